// Reference softmax cross-entropy.
#include <algorithm>
#include <cmath>

#include "backend/cpu/kernels/reference/kernels.h"

namespace snug::cpu::reference {

template <class X>
static void cross_entropy_row(const CrossEntropyOn<X>& op, std::int64_t r) {
  X* row = op.logits + r * op.V;
  const std::int64_t target = op.targets[r];
  if (target < 0) {
    op.losses[r] = 0.0f;
    if (op.want_gradient) std::fill(row, row + op.V, nearest<X>(0.0f));
    return;
  }
  double max = value_of(row[0]);
  for (std::int64_t v = 1; v < op.V; ++v) max = std::max(max, value_of(row[v]));
  double sum = 0.0;
  for (std::int64_t v = 0; v < op.V; ++v) sum += std::exp(value_of(row[v]) - max);
  op.losses[r] = static_cast<float>(std::log(sum) + max - value_of(row[target]));
  if (!op.want_gradient) return;
  for (std::int64_t v = 0; v < op.V; ++v) {
    const double onehot = v == target ? 1.0 : 0.0;
    set_nearest(row[v], op.gradient_scale * (std::exp(value_of(row[v]) - max) / sum - onehot));
  }
}

template <class X>
void cross_entropy(const CrossEntropyOn<X>& op) noexcept {
  for (std::int64_t r = 0; r < op.rows; ++r) cross_entropy_row(op, r);
}

template void cross_entropy(const CrossEntropyOn<float>&) noexcept;
template void cross_entropy(const CrossEntropyOn<Bf16>&) noexcept;
template void cross_entropy(const CrossEntropyOn<F16>&) noexcept;

}  // namespace snug::cpu::reference
