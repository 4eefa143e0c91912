// Reference AdamW and sum of squares.
#include <algorithm>
#include <cmath>

#include "backend/cpu/kernels/reference_kernels.h"

namespace snug::cpu::reference {

void adamw(const AdamW& op) noexcept {
  const double learning_rate = op.learning_rate, beta1 = op.beta1, beta2 = op.beta2;
  for (std::int64_t i = 0; i < op.count; ++i) {
    const double g = static_cast<double>(op.gradients[i]) * op.gradient_scale;
    const double w = op.weights[i] - learning_rate * op.weight_decay * op.weights[i];
    const double m = op.m[i] + (1.0 - beta1) * (g - op.m[i]);
    const double v = beta2 * op.v[i] + (1.0 - beta2) * g * g;
    const double root_correction2 = std::sqrt(static_cast<double>(op.correction2));
    const double denominator = std::sqrt(v) / root_correction2 + op.epsilon;
    op.weights[i] = static_cast<float>(w - learning_rate / op.correction1 * m / denominator);
    op.m[i] = static_cast<float>(m);
    op.v[i] = static_cast<float>(v);
  }
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
