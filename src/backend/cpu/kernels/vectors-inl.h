// Loads and stores of up to one vector of floats, and sums over rows. Compiled once per
// instruction set: include it after hwy/foreach_target.h. A kernel that runs its whole loop through
// load_upto and store_upto has one piece of arithmetic for full vectors and for the tail, so an
// element's bits do not depend on where it fell. For the same reason elementwise kernels spell out
// MulAdd wherever a product meets a sum: the compiler is free to fuse a Mul and an Add or not.
#if defined(SNUG_CPU_VECTORS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SNUG_CPU_VECTORS_INL_H_
#undef SNUG_CPU_VECTORS_INL_H_
#else
#define SNUG_CPU_VECTORS_INL_H_
#endif

#include <cstdint>
#include <cstring>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace snug::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D>
HWY_INLINE std::int64_t lane_count(D d) {
  return static_cast<std::int64_t>(hn::Lanes(d));
}

// The first min(lanes, count) floats of p; the other lanes hold `fill`. Reads nothing beyond.
template <class D>
HWY_INLINE hn::Vec<D> load_upto(D d, const float* p, std::int64_t count, float fill = 0.0f) {
  if (HWY_LIKELY(count >= lane_count(d))) return hn::LoadU(d, p);
  HWY_ALIGN float padded[hn::MaxLanes(d)];
  hn::Store(hn::Set(d, fill), d, padded);
  std::memcpy(padded, p, static_cast<std::size_t>(count) * sizeof(float));
  return hn::Load(d, padded);
}

// The first min(lanes, count) lanes of v to p. Writes nothing beyond.
template <class D>
HWY_INLINE void store_upto(hn::Vec<D> v, D d, float* p, std::int64_t count) {
  if (HWY_LIKELY(count >= lane_count(d))) {
    hn::StoreU(v, d, p);
    return;
  }
  HWY_ALIGN float padded[hn::MaxLanes(d)];
  hn::Store(v, d, padded);
  std::memcpy(p, padded, static_cast<std::size_t>(count) * sizeof(float));
}

// Zero in the lanes from `count` on.
template <class D>
HWY_INLINE hn::Vec<D> keep_upto(D d, hn::Vec<D> v, std::int64_t count) {
  if (HWY_LIKELY(count >= lane_count(d))) return v;
  return hn::IfThenElseZero(hn::FirstN(d, static_cast<std::size_t>(count)), v);
}

template <class D>
HWY_INLINE float sum_of_lanes(D d, hn::Vec<D> v) {
  return hn::GetLane(hn::SumOfLanes(d, v));
}

// Sum of the vectors term(i, rest) for i = 0, lanes, 2 lanes, ... < count. Fewer than `lanes`
// floats may be left (rest) for the last; its other lanes must come as zero. Four accumulators hide
// the latency of the addition and quarter the length of the chain of roundings.
template <class D, class Term>
HWY_INLINE float sum_of_terms(D d, std::int64_t count, Term term) {
  const std::int64_t lanes = lane_count(d);
  auto sum0 = hn::Zero(d), sum1 = hn::Zero(d), sum2 = hn::Zero(d), sum3 = hn::Zero(d);
  std::int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    sum0 = hn::Add(sum0, term(i, lanes));
    sum1 = hn::Add(sum1, term(i + lanes, lanes));
    sum2 = hn::Add(sum2, term(i + 2 * lanes, lanes));
    sum3 = hn::Add(sum3, term(i + 3 * lanes, lanes));
  }
  for (; i < count; i += lanes) sum0 = hn::Add(sum0, term(i, count - i));
  return sum_of_lanes(d, hn::Add(hn::Add(sum0, sum1), hn::Add(sum2, sum3)));
}

// acc[i] += row[i]. A lone addition rounds alike in every form, so this loop needs no padding.
HWY_INLINE void add_to(float* acc, const float* row, std::int64_t count) {
  const hn::ScalableTag<float> d;
  const std::int64_t lanes = lane_count(d);
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::StoreU(hn::Add(hn::LoadU(d, acc + i), hn::LoadU(d, row + i)), d, acc + i);
  }
  for (; i < count; ++i) acc[i] += row[i];
}

}  // namespace snug::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
