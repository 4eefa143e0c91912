// Reference softmax cross-entropy.
#include <algorithm>
#include <cmath>

#include "backend/cpu/kernels/reference/kernels.h"

namespace snug::cpu::reference {

static void cross_entropy_row(const CrossEntropy& op, std::int64_t r) {
  float* row = op.logits + r * op.V;
  const std::int64_t target = op.targets[r];
  if (target < 0) {
    op.losses[r] = 0.0f;
    if (op.want_gradient) std::fill(row, row + op.V, 0.0f);
    return;
  }
  const double max = *std::max_element(row, row + op.V);
  double sum = 0.0;
  for (std::int64_t v = 0; v < op.V; ++v) sum += std::exp(row[v] - max);
  op.losses[r] = static_cast<float>(std::log(sum) + max - row[target]);
  if (!op.want_gradient) return;
  for (std::int64_t v = 0; v < op.V; ++v) {
    const double onehot = v == target ? 1.0 : 0.0;
    row[v] = static_cast<float>(std::exp(row[v] - max) / sum - onehot);
  }
}

void cross_entropy(const CrossEntropy& op) noexcept {
  for (std::int64_t r = 0; r < op.rows; ++r) cross_entropy_row(op, r);
}

}  // namespace snug::cpu::reference
