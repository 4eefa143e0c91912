// Dropout of a run of elements, on top of philox-inl.h. Compiled once per instruction set: include
// it after hwy/foreach_target.h.
#if defined(SNUG_CPU_DROPOUT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SNUG_CPU_DROPOUT_INL_H_
#undef SNUG_CPU_DROPOUT_INL_H_
#else
#define SNUG_CPU_DROPOUT_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "backend/cpu/kernels/float16-inl.h"
#include "backend/cpu/kernels/philox-inl.h"
#include "backend/cpu/kernels/vectors-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace snug::cpu::HWY_NAMESPACE {

// Multipliers made at a time: 2 KiB, which stay in L1 between being made and being used.
constexpr std::int64_t kMaskTile = 512;

// body(i, count, keep) over [0, count) in tiles: keep[j] is the multiplier, the stream's scale or
// 0, of element first_element + i + j.
template <class Body>
HWY_INLINE void for_each_mask_tile(const DropoutStream& stream, std::int64_t first_element,
                                   std::int64_t count, Body body) {
  HWY_ALIGN float keep[kMaskTile];
  for (std::int64_t i = 0; i < count; i += kMaskTile) {
    const std::int64_t tile = std::min(kMaskTile, count - i);
    dropout_multipliers(stream, static_cast<std::uint64_t>(first_element + i),
                        static_cast<std::size_t>(tile), keep);
    body(i, tile, keep);
  }
}

// out[i] = in[i] * multiplier of element first_element + i; out may be in.
template <class X>
HWY_INLINE void apply_dropout(const DropoutStream& stream, std::int64_t first_element,
                              std::int64_t count, const X* in, X* out) {
  const hn::ScalableTag<float> d;
  const std::int64_t lanes = lane_count(d);
  for_each_mask_tile(stream, first_element, count,
                     [&](std::int64_t i, std::int64_t tile, const float* keep) HWY_ATTR {
                       for (std::int64_t j = 0; j < tile; j += lanes) {
                         const auto x = load_upto(d, in + i + j, tile - j);
                         const auto y = hn::Mul(x, load_upto(d, keep + j, tile - j));
                         store_upto(y, d, out + i + j, tile - j);
                       }
                     });
}

}  // namespace snug::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
