// The update's ops to its kernels.
#include <cmath>

#include "backend/cuda/op_functions.h"
#include "backend/cuda/op_run.h"

namespace snug::cuda {

void run_gradient_norm(const OpRun& r, const ops::GradientNorm& op) {
  auto* partial = reinterpret_cast<double*>(r.scratch);
  bool first = true;
  FloatArrays arrays;
  const auto add = [&] {
    add_squares(arrays, partial, first, r.stream());
    first = false;
    arrays.size = 0;
  };
  for (const TensorId id : op.gradients.ids) {
    arrays.data[arrays.size] = r.f32(id);
    arrays.count[arrays.size++] = r.shapes.shape(id).element_count();
    if (arrays.size == FloatArrays::kMax) add();
  }
  if (arrays.size > 0) add();
  finish_norm(partial, r.context.gradient_scale, static_cast<double*>(r.data(op.norm)), r.stream());
}

void run_adamw(const OpRun& r, const ops::AdamW& op) {
  const backend::StepContext& c = r.context;
  const auto t = static_cast<double>(c.update_count);
  const bool has_copy = op.compute_copy.is_present();
  adamw({.moments = r.dtype(op.m),
         .copy_dtype = has_copy ? r.dtype(op.compute_copy) : DType::kBF16,
         .count = r.shapes.shape(op.weight).element_count(),
         .weights = r.f32(op.weight),
         .gradients = r.f32(op.gradient),
         .m = r.data(op.m),
         .v = r.data(op.v),
         .copy = has_copy ? r.data(op.compute_copy) : nullptr,
         .norm = static_cast<const double*>(r.data(op.norm)),
         .gradient_scale = c.gradient_scale,
         .gradient_clip = c.gradient_clip,
         .learning_rate = c.learning_rate,
         .beta1 = c.beta1,
         .beta2 = c.beta2,
         .epsilon = c.epsilon,
         .weight_decay = op.weight_decay,
         .correction1 = 1 - std::pow(c.beta1, t),
         .correction2 = 1 - std::pow(c.beta2, t),
         .seed = c.seed,
         .parameter = static_cast<std::uint32_t>(op.parameter_index),
         .iteration = static_cast<std::uint32_t>(c.iteration)},
        r.stream());
}

void run_cast(const OpRun& r, const ops::Cast& op) {
  for (std::size_t i = 0; i < op.weights.ids.size(); ++i) {
    const TensorId to = op.copies.ids[i];
    cast(r.dtype(to), r.f32(op.weights.ids[i]), r.data(to), r.shapes.shape(to).element_count(),
         r.stream());
  }
}

}  // namespace snug::cuda
