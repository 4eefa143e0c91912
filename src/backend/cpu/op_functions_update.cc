// The update's ops to its kernels.
#include <algorithm>
#include <cmath>

#include "backend/cpu/kernels/bf16.h"
#include "backend/cpu/kernels/chunks.h"
#include "backend/cpu/op_functions.h"
#include "backend/cpu/op_run.h"
#include "base/error.h"

namespace snug::cpu {
namespace {

// False when the norm is not finite: then nothing may change.
template <class Moment>
bool set_common(const OpRun& r, const ops::AdamW& op, Moment* m, Moment* v,
                AdamWOn<Moment>& kernel) {
  const double norm = *r.view(op.norm).f64();
  const backend::StepContext& c = r.context;
  // As torch.nn.utils.clip_grad_norm_ does it.
  const double clip = c.gradient_clip > 0 ? std::min(1.0, c.gradient_clip / (norm + 1e-6)) : 1.0;
  const auto t = static_cast<double>(c.update_count);
  kernel = {.count = r.view(op.weight).element_count(),
            .weights = r.f32(op.weight),
            .gradients = r.f32(op.gradient),
            .m = m,
            .v = v,
            .gradient_scale = static_cast<float>(c.gradient_scale * clip),
            .learning_rate = c.learning_rate,
            .beta1 = c.beta1,
            .beta2 = c.beta2,
            .epsilon = c.epsilon,
            .weight_decay = op.weight_decay,
            .correction1 = 1 - std::pow(c.beta1, t),
            .correction2 = 1 - std::pow(c.beta2, t)};
  if (op.compute_copy.is_present()) {
    const TensorView copy = r.view(op.compute_copy);
    if (copy.dtype == DType::kBF16) {
      kernel.copy_bf16 = copy.as<Bf16>();
    } else {
      kernel.copy_f16 = copy.as<F16>();
    }
  }
  return std::isfinite(norm);
}

template <class X>
void cast_to(const TensorView& from, const TensorView& to) {
  const float* x = from.f32();
  X* y = to.as<X>();
  for_each_range(from.element_count(), kChunk, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) y[i] = nearest<X>(x[i]);
  });
}

void cast(const TensorView& from, const TensorView& to) {
  to.dtype == DType::kBF16 ? cast_to<Bf16>(from, to) : cast_to<F16>(from, to);
}

}  // namespace

void run_gradient_norm(const OpRun& r, const ops::GradientNorm& op) {
  double sum = 0;
  for (const TensorId id : op.gradients.ids) {
    const TensorView view = r.view(id);
    sum += r.kernels().sum_of_squares(view.f32(), view.element_count(),
                                      reinterpret_cast<double*>(r.scratch.data));
  }
  *r.view(op.norm).f64() = std::sqrt(sum) * r.context.gradient_scale;
}

std::int64_t gradient_norm_scratch(const OpQuestion& q, const ops::GradientNorm& op) {
  std::int64_t largest = 0;
  for (const TensorId id : op.gradients.ids) {
    largest = std::max(largest, q.shapes.shape(id).element_count());
  }
  return ceil_div(largest, kSquareBlock) * static_cast<std::int64_t>(sizeof(double));
}

void run_adamw(const OpRun& r, const ops::AdamW& op) {
  AdamW kernel;
  if (!set_common(r, op, r.f32(op.m), r.f32(op.v), kernel)) return;
  r.kernels().adamw(kernel);
}

void run_adamw_bf16(const OpRun& r, const ops::AdamW& op) {
  AdamWBf16 kernel;
  kernel.rounding = {r.context.seed, static_cast<std::uint32_t>(op.parameter_index),
                     static_cast<std::uint32_t>(r.context.iteration)};
  if (!set_common(r, op, r.view(op.m).bf16(), r.view(op.v).bf16(), kernel)) return;
  r.kernels().adamw_bf16(kernel);
}

void run_cast(const OpRun& r, const ops::Cast& op) {
  for (std::size_t i = 0; i < op.weights.ids.size(); ++i) {
    cast(r.view(op.weights.ids[i]), r.view(op.copies.ids[i]));
  }
}

}  // namespace snug::cpu
