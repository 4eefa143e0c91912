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
#include <type_traits>

#include "backend/cpu/kernels/any_precision.h"
#include "backend/cpu/kernels/chunks.h"
#include "backend/cpu/kernels/exp-inl.h"
#include "backend/cpu/kernels/fast_kernels.h"
#include "backend/cpu/kernels/float16-inl.h"
#include "backend/cpu/kernels/vectors-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace snug::cpu::HWY_NAMESPACE {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

// Exponentials summed in float before their sum joins a double: bounds the rounding of a sum over
// 50K words by that of one over 1K.
constexpr std::int64_t kSumBlock = 1024;

// May miss a NaN; sum_of_exp then meets it.
template <class X>
HWY_INLINE float row_max(const X* row, std::int64_t V) {
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
template <bool kStore, class X>
HWY_INLINE double sum_of_exp(X* row, std::int64_t V, float max) {
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

// factor * exp(logit - max) in the place of the logits: 16 bits could not hold what float keeps
// between the two passes.
template <class X>
HWY_INLINE void softmax_row(X* row, std::int64_t V, float max, float factor) {
  const hn::ScalableTag<float> d;
  const std::int64_t lanes = lane_count(d);
  const auto shift = hn::Set(d, max), scale = hn::Set(d, factor);
  for (std::int64_t i = 0, rest = V; rest > 0; i += lanes, rest -= lanes) {
    const auto e = exp_of_nonpositive(d, hn::Sub(load_upto(d, row + i, rest, max), shift));
    store_upto(hn::Mul(e, scale), d, row + i, rest);
  }
}

template <class X>
HWY_INLINE void cross_entropy_row_of(const CrossEntropyOn<X>& op, std::int64_t r) {
  constexpr bool kIsFloat = std::is_same_v<X, float>;
  X* row = op.logits + r * op.V;
  const std::int64_t target = op.targets[r];
  if (target < 0) {
    op.losses[r] = 0.0f;
    if (op.want_gradient) std::fill(row, row + op.V, nearest<X>(0.0f));
    return;
  }
  const float max = row_max(row, op.V);
  const double target_logit = static_cast<double>(to_float(row[target]));
  const double sum = kIsFloat && op.want_gradient ? sum_of_exp<kIsFloat>(row, op.V, max)
                                                  : sum_of_exp<false>(row, op.V, max);
  op.losses[r] = static_cast<float>(std::log(sum) + (static_cast<double>(max) - target_logit));
  if (!op.want_gradient) return;
  const double scale = static_cast<double>(op.gradient_scale);
  if constexpr (kIsFloat) {
    scale_row(row, op.V, static_cast<float>(scale / sum));
    row[target] -= op.gradient_scale;
  } else {
    softmax_row(row, op.V, max, static_cast<float>(scale / sum));
    const double p = std::exp(target_logit - static_cast<double>(max)) / sum;
    row[target] = nearest<X>(static_cast<float>(scale * (p - 1)));
  }
}

void cross_entropy_row(AnyPrecision<CrossEntropyOn> op, std::int64_t r) {
  std::visit([&](const auto* a) HWY_ATTR { cross_entropy_row_of(*a, r); }, op);
}

}  // namespace snug::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace snug::cpu {

HWY_EXPORT(cross_entropy_row);

template <class X>
void cross_entropy_fast(const CrossEntropyOn<X>& op) noexcept {
  for_each_range(op.rows, 1, op.V, [&](std::int64_t row, std::int64_t) {
    HWY_DYNAMIC_DISPATCH(cross_entropy_row)(&op, row);
  });
}

template void cross_entropy_fast(const CrossEntropyOn<float>&) noexcept;
template void cross_entropy_fast(const CrossEntropyOn<Bf16>&) noexcept;
template void cross_entropy_fast(const CrossEntropyOn<F16>&) noexcept;

}  // namespace snug::cpu
#endif  // HWY_ONCE
