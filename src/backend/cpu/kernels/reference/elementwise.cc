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

void gelu(const Gelu& op) noexcept {
  for (std::int64_t i = 0; i < op.count; ++i) {
    const double x = op.x[i];
    op.y[i] = static_cast<float>(0.5 * x * std::erfc(-x / std::numbers::sqrt2));
  }
}

void gelu_backward(const GeluBackward& op) noexcept {
  for (std::int64_t i = 0; i < op.count; ++i) {
    const double x = op.x[i];
    const double distribution = 0.5 * std::erfc(-x / std::numbers::sqrt2);
    const double density = std::exp(-0.5 * x * x) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
    op.dy[i] = static_cast<float>(op.dy[i] * (distribution + x * density));
  }
}

void residual_add(const ResidualAdd& op) noexcept {
  const std::int64_t length = op.T * op.C;
  for (std::int64_t b = 0; b < op.B; ++b) {
    for (std::int64_t e = 0; e < length; ++e) {
      const std::int64_t i = b * length + e;
      const double branch = op.branch[i] * keep_multiplier(op.dropout, b, e);
      op.out[i] = static_cast<float>(op.residual[i] + branch);
    }
  }
}

void dropout_backward(const DropoutBackward& op) noexcept {
  const std::int64_t length = op.T * op.C;
  for (std::int64_t b = 0; b < op.B; ++b) {
    for (std::int64_t e = 0; e < length; ++e) {
      const std::int64_t i = b * length + e;
      op.din[i] = static_cast<float>(op.dout[i] * keep_multiplier(op.dropout, b, e));
    }
  }
}

void bias_backward(const BiasBackward& op) noexcept {
  for (std::int64_t n = 0; n < op.N; ++n) {
    for (std::int64_t b = 0; b < op.B; ++b) {
      double sum = 0.0;
      for (std::int64_t t = 0; t < op.T; ++t) sum += op.dy[(b * op.T + t) * op.N + n];
      op.dbias[n] += static_cast<float>(sum);
    }
  }
}

}  // namespace snug::cpu::reference
