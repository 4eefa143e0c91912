// Softmax cross-entropy of rows of logits; the gradient replaces them. Three passes over a row of
// V floats, which fit in the second-level cache: maximum, exponentials and their sum,
// gradient. Rows are independent.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/cross_entropy.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h:
#include <algorithm>
#include <cmath>
#include <limits>

#include "backend/cpu/kernels/chunks.h"
#include "backend/cpu/kernels/exp-inl.h"
#include "backend/cpu/kernels/fast_kernels.h"
#include "backend/cpu/kernels/vectors-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace snug::cpu::HWY_NAMESPACE {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

// Exponentials summed in float before their sum joins a double: bounds the rounding of a sum over
// 50K words by that of one over 1K.
constexpr std::int64_t kSumBlock = 1024;

// May miss a NaN; sum_of_exp then meets it.
HWY_INLINE float row_max(const float* row, std::int64_t V) {
  const hn::ScalableTag<float> d;
  const std::int64_t lanes = lane_count(d);
  auto max0 = hn::Set(d, kMinusInfinity), max1 = max0;
  for (std::int64_t i = 0, rest = V; rest > 0; i += 2 * lanes, rest -= 2 * lanes) {
    max0 = hn::Max(max0, load_upto(d, row + i, rest, kMinusInfinity));
    if (rest <= lanes) break;
    max1 = hn::Max(max1, load_upto(d, row + i + lanes, rest - lanes, kMinusInfinity));
  }
  return hn::GetLane(hn::MaxOfLanes(d, hn::Max(max0, max1)));
}

// Sum of exp(logit - max); the terms replace the logits when kStore. The sum's bits do not depend
// on kStore: padded lanes are exp(-inf) = 0.
template <bool kStore>
HWY_INLINE double sum_of_exp(float* row, std::int64_t V, float max) {
  const hn::ScalableTag<float> d;
  const std::int64_t lanes = lane_count(d);
  const auto shift = hn::Set(d, max);
  double total = 0.0;
  for (std::int64_t block = 0; block < V; block += kSumBlock) {
    auto sum = hn::Zero(d);
    const std::int64_t end = std::min(V, block + kSumBlock);
    for (std::int64_t i = block; i < end; i += lanes) {
      const auto x = hn::Sub(load_upto(d, row + i, end - i, kMinusInfinity), shift);
      const auto e = exp_of_nonpositive(d, x);
      sum = hn::Add(sum, e);
      if constexpr (kStore) store_upto(e, d, row + i, end - i);
    }
    total += static_cast<double>(sum_of_lanes(d, sum));
  }
  return total;
}

HWY_INLINE void scale_row(float* row, std::int64_t V, float factor) {
  const hn::ScalableTag<float> d;
  const std::int64_t lanes = lane_count(d);
  const auto scale = hn::Set(d, factor);
  for (std::int64_t i = 0, rest = V; rest > 0; i += lanes, rest -= lanes) {
    store_upto(hn::Mul(load_upto(d, row + i, rest), scale), d, row + i, rest);
  }
}

void cross_entropy_row(const CrossEntropy& op, std::int64_t r) {
  float* row = op.logits + r * op.V;
  const std::int64_t target = op.targets[r];
  if (target < 0) {
    op.losses[r] = 0.0f;
    if (op.want_gradient) std::fill(row, row + op.V, 0.0f);
    return;
  }
  const float max = row_max(row, op.V);
  const double target_logit = static_cast<double>(row[target]);
  const double sum =
      op.want_gradient ? sum_of_exp<true>(row, op.V, max) : sum_of_exp<false>(row, op.V, max);
  op.losses[r] = static_cast<float>(std::log(sum) + (static_cast<double>(max) - target_logit));
  if (op.want_gradient) {
    scale_row(row, op.V, static_cast<float>(1.0 / sum));
    row[target] -= 1.0f;
  }
}

}  // namespace snug::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace snug::cpu {

HWY_EXPORT(cross_entropy_row);

void cross_entropy_fast(const CrossEntropy& op) noexcept {
  for_each_range(op.rows, 1, op.V, [&](std::int64_t row, std::int64_t) {
    HWY_DYNAMIC_DISPATCH(cross_entropy_row)(op, row);
  });
}

}  // namespace snug::cpu
#endif  // HWY_ONCE
