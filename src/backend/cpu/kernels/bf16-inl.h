// Loads of bfloat16 into vectors of float, and stochastically rounded stores: bit for bit bf16.h,
// but for signalling NaNs, which no arithmetic gives and which a store may turn into infinity.
// Compiled once per instruction set: include it after hwy/foreach_target.h.
#if defined(SNUG_CPU_BF16_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SNUG_CPU_BF16_INL_H_
#undef SNUG_CPU_BF16_INL_H_
#else
#define SNUG_CPU_BF16_INL_H_
#endif

#include <cstdint>
#include <cstring>

#include "backend/cpu/kernels/bf16.h"
#include "backend/cpu/kernels/vectors-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace snug::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D>
HWY_INLINE hn::Vec<D> load_bf16(D d, const std::uint16_t* p) {
  const hn::Rebind<std::uint16_t, D> d16;
  const hn::RebindToUnsigned<D> d32;
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(d32, hn::LoadU(d16, p))));
}

// The first min(lanes, count) bfloat16 of p; the other lanes hold 0. Reads nothing beyond.
template <class D>
HWY_INLINE hn::Vec<D> load_upto(D d, const std::uint16_t* p, std::int64_t count) {
  if (HWY_LIKELY(count >= lane_count(d))) return load_bf16(d, p);
  HWY_ALIGN std::uint16_t padded[hn::MaxLanes(d)] = {};
  std::memcpy(padded, p, static_cast<std::size_t>(count) * sizeof(std::uint16_t));
  return load_bf16(d, padded);
}

// round_to_bf16(x, random16) of the first min(lanes, count) lanes to p. Writes nothing beyond.
template <class D>
HWY_INLINE void store_rounded_upto(hn::Vec<D> x, hn::VFromD<hn::RebindToUnsigned<D>> random16, D d,
                                   std::uint16_t* p, std::int64_t count) {
  const hn::Rebind<std::uint16_t, D> d16;
  const hn::RebindToUnsigned<D> d32;
  // From the largest bfloat16 on nothing is added: finite values are cut to it, infinity and NaN
  // (with which no comparison is true) keep their upper half.
  const auto largest = hn::Set(d, bf16_to_float(kBf16Largest));
  const auto may_round = hn::RebindMask(d32, hn::Lt(hn::Abs(x), largest));
  const auto sum = hn::Add(hn::BitCast(d32, x), hn::IfThenElseZero(may_round, random16));
  const auto rounded = hn::TruncateTo(d16, hn::ShiftRight<16>(sum));
  if (HWY_LIKELY(count >= lane_count(d))) {
    hn::StoreU(rounded, d16, p);
    return;
  }
  HWY_ALIGN std::uint16_t padded[hn::MaxLanes(d)];
  hn::Store(rounded, d16, padded);
  std::memcpy(p, padded, static_cast<std::size_t>(count) * sizeof(std::uint16_t));
}

}  // namespace snug::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
