// Reference LayerNorm.
#include <cmath>

#include "backend/cpu/kernels/reference/kernels.h"

namespace snug::cpu::reference {

template <class X>
void layernorm_forward(const LayerNormOn<X>& op) noexcept {
  const auto width = static_cast<double>(op.C);
  for (std::int64_t row = 0; row < op.rows; ++row) {
    const X* x = op.x + row * op.C;
    double sum = 0.0, squares = 0.0;
    for (std::int64_t c = 0; c < op.C; ++c) sum += value_of(x[c]);
    const double mean = sum / width;
    for (std::int64_t c = 0; c < op.C; ++c) {
      squares += (value_of(x[c]) - mean) * (value_of(x[c]) - mean);
    }
    op.mean[row] = static_cast<float>(mean);
    op.rstd[row] = static_cast<float>(1.0 / std::sqrt(squares / width + 1e-5));
  }
  layernorm_apply(op);
}

template <class X>
void layernorm_apply(const LayerNormOn<X>& op) noexcept {
  for (std::int64_t row = 0; row < op.rows; ++row) {
    const double mean = op.mean[row], rstd = op.rstd[row];
    for (std::int64_t c = 0; c < op.C; ++c) {
      const std::int64_t i = row * op.C + c;
      const double beta = op.beta ? op.beta[c] : 0.0;
      set_nearest(op.y[i], (value_of(op.x[i]) - mean) * rstd * op.gamma[c] + beta);
    }
  }
}

// With xhat = (x - mean) rstd and h = dy gamma: dx += rstd (h - mean(h) - xhat mean(h xhat)).
template <class X>
static void add_row_gradient(const LayerNormBackwardOn<X>& op, std::int64_t row) {
  const double mean = op.mean[row], rstd = op.rstd[row];
  const auto width = static_cast<double>(op.C);
  double sum_h = 0.0, sum_hx = 0.0;
  for (std::int64_t c = 0; c < op.C; ++c) {
    const std::int64_t i = row * op.C + c;
    const double h = value_of(op.dy[i]) * op.gamma[c];
    sum_h += h;
    sum_hx += h * (value_of(op.x[i]) - mean) * rstd;
  }
  for (std::int64_t c = 0; c < op.C; ++c) {
    const std::int64_t i = row * op.C + c;
    const double h = value_of(op.dy[i]) * op.gamma[c];
    const double xhat = (value_of(op.x[i]) - mean) * rstd;
    set_nearest(op.dx[i], value_of(op.dx[i]) + rstd * (h - sum_h / width - xhat * sum_hx / width));
  }
}

template <class X>
void layernorm_backward(const LayerNormBackwardOn<X>& op) noexcept {
  for (std::int64_t row = 0; row < op.B * op.T; ++row) add_row_gradient(op, row);
  for (std::int64_t c = 0; c < op.C; ++c) {
    for (std::int64_t b = 0; b < op.B; ++b) {
      double gamma_sum = 0.0, beta_sum = 0.0;
      for (std::int64_t row = b * op.T; row < (b + 1) * op.T; ++row) {
        const std::int64_t i = row * op.C + c;
        const double xhat = (value_of(op.x[i]) - op.mean[row]) * op.rstd[row];
        gamma_sum += value_of(op.dy[i]) * xhat;
        beta_sum += value_of(op.dy[i]);
      }
      op.dgamma[c] += static_cast<float>(gamma_sum);
      if (op.dbeta) op.dbeta[c] += static_cast<float>(beta_sum);
    }
  }
}

template void layernorm_forward(const LayerNormOn<float>&) noexcept;
template void layernorm_forward(const LayerNormOn<Bf16>&) noexcept;
template void layernorm_forward(const LayerNormOn<F16>&) noexcept;
template void layernorm_apply(const LayerNormOn<float>&) noexcept;
template void layernorm_apply(const LayerNormOn<Bf16>&) noexcept;
template void layernorm_apply(const LayerNormOn<F16>&) noexcept;
template void layernorm_backward(const LayerNormBackwardOn<float>&) noexcept;
template void layernorm_backward(const LayerNormBackwardOn<Bf16>&) noexcept;
template void layernorm_backward(const LayerNormBackwardOn<F16>&) noexcept;

}  // namespace snug::cpu::reference
