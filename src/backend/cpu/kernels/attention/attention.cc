// Dispatch of the fast attention kernels to the best instruction set at run time, and their
// scratch.
#include "backend/cpu/kernels/attention/attention.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/attention/attention.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backend/cpu/kernels/attention/backward-inl.h"
#include "backend/cpu/kernels/attention/decode-inl.h"
#include "backend/cpu/kernels/attention/forward-inl.h"

#if HWY_ONCE
namespace snug::cpu {

HWY_EXPORT(attention_target);
HWY_EXPORT(attention_backward_target);
HWY_EXPORT(attention_decode_target);

void attention_fast(const Attention& a) noexcept { HWY_DYNAMIC_DISPATCH(attention_target)(a); }

void attention_backward_fast(const AttentionBackward& a) noexcept {
  HWY_DYNAMIC_DISPATCH(attention_backward_target)(a);
}

void attention_decode_fast(const AttentionDecode& a) noexcept {
  HWY_DYNAMIC_DISPATCH(attention_decode_target)(a);
}

std::int64_t attention_scratch_bytes(std::int64_t T, std::int64_t D, int threads) {
  return threads * ForwardLayout(T, D).floats * static_cast<std::int64_t>(sizeof(float)) +
         kLineBytes;
}

std::int64_t attention_backward_scratch_bytes(std::int64_t T, std::int64_t D, int threads) {
  return threads * (BackwardHeadLayout(T, D).floats + BackwardTileLayout(D).floats) *
             static_cast<std::int64_t>(sizeof(float)) +
         kLineBytes;
}

}  // namespace snug::cpu
#endif  // HWY_ONCE
