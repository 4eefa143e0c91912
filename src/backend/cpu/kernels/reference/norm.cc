// Reference LayerNorm.
#include <cmath>

#include "backend/cpu/kernels/reference/kernels.h"

namespace snug::cpu::reference {

void layernorm_forward(const LayerNorm& op) noexcept {
  const auto width = static_cast<double>(op.C);
  for (std::int64_t row = 0; row < op.rows; ++row) {
    const float* x = op.x + row * op.C;
    double sum = 0.0, squares = 0.0;
    for (std::int64_t c = 0; c < op.C; ++c) sum += x[c];
    const double mean = sum / width;
    for (std::int64_t c = 0; c < op.C; ++c) squares += (x[c] - mean) * (x[c] - mean);
    op.mean[row] = static_cast<float>(mean);
    op.rstd[row] = static_cast<float>(1.0 / std::sqrt(squares / width + 1e-5));
  }
  layernorm_apply(op);
}

void layernorm_apply(const LayerNorm& op) noexcept {
  for (std::int64_t row = 0; row < op.rows; ++row) {
    const double mean = op.mean[row], rstd = op.rstd[row];
    for (std::int64_t c = 0; c < op.C; ++c) {
      const std::int64_t i = row * op.C + c;
      const double beta = op.beta ? op.beta[c] : 0.0;
      op.y[i] = static_cast<float>((op.x[i] - mean) * rstd * op.gamma[c] + beta);
    }
  }
}

// With xhat = (x - mean) rstd and h = dy gamma: dx += rstd (h - mean(h) - xhat mean(h xhat)).
static void add_row_gradient(const LayerNormBackward& op, std::int64_t row) {
  const double mean = op.mean[row], rstd = op.rstd[row];
  const auto width = static_cast<double>(op.C);
  double sum_h = 0.0, sum_hx = 0.0;
  for (std::int64_t c = 0; c < op.C; ++c) {
    const std::int64_t i = row * op.C + c;
    const double h = static_cast<double>(op.dy[i]) * op.gamma[c];
    sum_h += h;
    sum_hx += h * (op.x[i] - mean) * rstd;
  }
  for (std::int64_t c = 0; c < op.C; ++c) {
    const std::int64_t i = row * op.C + c;
    const double h = static_cast<double>(op.dy[i]) * op.gamma[c];
    const double xhat = (op.x[i] - mean) * rstd;
    op.dx[i] = static_cast<float>(op.dx[i] + rstd * (h - sum_h / width - xhat * sum_hx / width));
  }
}

void layernorm_backward(const LayerNormBackward& op) noexcept {
  for (std::int64_t row = 0; row < op.B * op.T; ++row) add_row_gradient(op, row);
  for (std::int64_t c = 0; c < op.C; ++c) {
    for (std::int64_t b = 0; b < op.B; ++b) {
      double gamma_sum = 0.0, beta_sum = 0.0;
      for (std::int64_t row = b * op.T; row < (b + 1) * op.T; ++row) {
        const std::int64_t i = row * op.C + c;
        const double xhat = (static_cast<double>(op.x[i]) - op.mean[row]) * op.rstd[row];
        gamma_sum += op.dy[i] * xhat;
        beta_sum += op.dy[i];
      }
      op.dgamma[c] += static_cast<float>(gamma_sum);
      if (op.dbeta) op.dbeta[c] += static_cast<float>(beta_sum);
    }
  }
}

}  // namespace snug::cpu::reference
