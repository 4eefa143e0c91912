// Reference AdamW, with moments in float and in bfloat16, and sum of squares.
#include <algorithm>
#include <cmath>

#include "backend/cpu/kernels/bf16.h"
#include "backend/cpu/kernels/reference/kernels.h"
#include "base/philox.h"

namespace snug::cpu::reference {

namespace {

float widened(float moment) { return moment; }
float widened(std::uint16_t moment) { return bf16_to_float(moment); }

// keep(i, m, v) stores the moments of element i.
template <class Moment, class Keep>
void update(const AdamWOn<Moment>& op, Keep keep) noexcept {
  const double learning_rate = op.learning_rate, beta1 = op.beta1, beta2 = op.beta2;
  for (std::int64_t i = 0; i < op.count; ++i) {
    const double g = static_cast<double>(op.gradients[i]) * op.gradient_scale;
    const double w = op.weights[i] - learning_rate * op.weight_decay * op.weights[i];
    const double old_m = widened(op.m[i]), old_v = widened(op.v[i]);
    const double m = old_m + (1.0 - beta1) * (g - old_m);
    const double v = beta2 * old_v + (1.0 - beta2) * g * g;
    const double root_correction2 = std::sqrt(static_cast<double>(op.correction2));
    const double denominator = std::sqrt(v) / root_correction2 + op.epsilon;
    op.weights[i] = static_cast<float>(w - learning_rate / op.correction1 * m / denominator);
    if (op.copy_bf16 != nullptr) op.copy_bf16[i] = nearest<Bf16>(op.weights[i]);
    if (op.copy_f16 != nullptr) op.copy_f16[i] = nearest<F16>(op.weights[i]);
    keep(i, static_cast<float>(m), static_cast<float>(v));
  }
}

}  // namespace

void adamw(const AdamW& op) noexcept {
  update(op, [&](std::int64_t i, float m, float v) {
    op.m[i] = m;
    op.v[i] = v;
  });
}

void adamw_bf16(const AdamWBf16& op) noexcept {
  constexpr auto kPurpose = static_cast<std::uint32_t>(RandomPurpose::kRoundMoments);
  const MomentRounding& r = op.rounding;
  update(op, [&](std::int64_t i, float m, float v) {
    const PhiloxBlock words =
        philox(r.seed, {static_cast<std::uint32_t>(i / 4), kPurpose, r.parameter, r.iteration});
    const std::uint32_t word = words[static_cast<std::size_t>(i % 4)];
    op.m[i] = round_to_bf16(m, word & 0xFFFF);
    op.v[i] = round_to_bf16(v, word >> 16);
  });
}

double sum_of_squares(const float* x, std::int64_t count, double* scratch) noexcept {
  double total = 0.0;
  for (std::int64_t begin = 0; begin < count; begin += kSquareBlock) {
    double& block = scratch[begin / kSquareBlock];
    block = 0.0;
    for (std::int64_t i = begin; i < std::min(count, begin + kSquareBlock); ++i) {
      block += static_cast<double>(x[i]) * x[i];
    }
    total += block;
  }
  return total;
}

}  // namespace snug::cpu::reference
