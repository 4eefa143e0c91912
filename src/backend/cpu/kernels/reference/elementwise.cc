// Reference GELU, residual addition, dropout and bias gradient.
#include <cmath>
#include <numbers>

#include "backend/cpu/kernels/reference/kernels.h"
#include "base/philox.h"

namespace snug::cpu::reference {

double keep_multiplier(const Dropout& dropout, std::int64_t sequence_in_batch,
                       std::int64_t element) noexcept {
  if (dropout.threshold == 0) return 1.0;
  const auto sequence = static_cast<std::uint32_t>(dropout.first_sequence + sequence_in_batch);
  const auto block = static_cast<std::uint32_t>(element / 4);
  const PhiloxBlock words =
      philox(dropout.seed, {block, dropout.site, sequence, dropout.iteration});
  return words[static_cast<std::size_t>(element % 4)] >= dropout.threshold ? dropout.scale : 0.0;
}

namespace {

// sqrt(2 / pi) (x + 0.044715 x^3)
double tanh_argument(double x) {
  return std::numbers::sqrt2 * std::numbers::inv_sqrtpi * (x + 0.044715 * x * x * x);
}

// GELU is x times this, and its derivative is this plus x times its density.
double gelu_distribution(GeluForm form, double x) {
  if (form == GeluForm::kErf) return 0.5 * std::erfc(-x / std::numbers::sqrt2);
  return 1 / (1 + std::exp(-2 * tanh_argument(x)));
}

double gelu_density(GeluForm form, double x) {
  if (form == GeluForm::kErf) {
    return std::exp(-0.5 * x * x) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
  }
  const double slope = std::numbers::sqrt2 * std::numbers::inv_sqrtpi * (1 + 3 * 0.044715 * x * x);
  const double half = 2 * std::cosh(tanh_argument(x));  // 1 - tanh^2 = 1 / cosh^2
  return 2 * slope / (half * half);
}

}  // namespace

template <class X>
void gelu(const GeluOn<X>& op) noexcept {
  for (std::int64_t i = 0; i < op.count; ++i) {
    const double x = value_of(op.x[i]);
    set_nearest(op.y[i], x * gelu_distribution(op.form, x));
  }
}

template <class X>
void gelu_backward(const GeluBackwardOn<X>& op) noexcept {
  for (std::int64_t i = 0; i < op.count; ++i) {
    const double x = value_of(op.x[i]);
    set_nearest(op.dy[i], value_of(op.dy[i]) *
                              (gelu_distribution(op.form, x) + x * gelu_density(op.form, x)));
  }
}

template <class X>
void residual_add(const ResidualAddOn<X>& op) noexcept {
  const std::int64_t length = op.T * op.C;
  for (std::int64_t b = 0; b < op.B; ++b) {
    for (std::int64_t e = 0; e < length; ++e) {
      const std::int64_t i = b * length + e;
      const double branch = value_of(op.branch[i]) * keep_multiplier(op.dropout, b, e);
      set_nearest(op.out[i], value_of(op.residual[i]) + branch);
    }
  }
}

template <class X>
void dropout_backward(const DropoutBackwardOn<X>& op) noexcept {
  const std::int64_t length = op.T * op.C;
  for (std::int64_t b = 0; b < op.B; ++b) {
    for (std::int64_t e = 0; e < length; ++e) {
      const std::int64_t i = b * length + e;
      set_nearest(op.din[i], value_of(op.dout[i]) * keep_multiplier(op.dropout, b, e));
    }
  }
}

template <class X>
void bias_backward(const BiasBackwardOn<X>& op) noexcept {
  for (std::int64_t n = 0; n < op.N; ++n) {
    for (std::int64_t b = 0; b < op.B; ++b) {
      double sum = 0.0;
      for (std::int64_t t = 0; t < op.T; ++t) sum += value_of(op.dy[(b * op.T + t) * op.N + n]);
      op.dbias[n] += static_cast<float>(sum);
    }
  }
}

template void gelu(const GeluOn<float>&) noexcept;
template void gelu(const GeluOn<Bf16>&) noexcept;
template void gelu(const GeluOn<F16>&) noexcept;
template void gelu_backward(const GeluBackwardOn<float>&) noexcept;
template void gelu_backward(const GeluBackwardOn<Bf16>&) noexcept;
template void gelu_backward(const GeluBackwardOn<F16>&) noexcept;
template void residual_add(const ResidualAddOn<float>&) noexcept;
template void residual_add(const ResidualAddOn<Bf16>&) noexcept;
template void residual_add(const ResidualAddOn<F16>&) noexcept;
template void dropout_backward(const DropoutBackwardOn<float>&) noexcept;
template void dropout_backward(const DropoutBackwardOn<Bf16>&) noexcept;
template void dropout_backward(const DropoutBackwardOn<F16>&) noexcept;
template void bias_backward(const BiasBackwardOn<float>&) noexcept;
template void bias_backward(const BiasBackwardOn<Bf16>&) noexcept;
template void bias_backward(const BiasBackwardOn<F16>&) noexcept;

}  // namespace snug::cpu::reference
