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

template <class X>
void attention_fast(const AttentionOn<X>& a) noexcept {
  HWY_DYNAMIC_DISPATCH(attention_target)(&a);
}

template <class X>
void attention_backward_fast(const AttentionBackwardOn<X>& a) noexcept {
  HWY_DYNAMIC_DISPATCH(attention_backward_target)(&a);
}

template <class X>
void attention_decode_fast(const AttentionDecodeOn<X>& a) noexcept {
  HWY_DYNAMIC_DISPATCH(attention_decode_target)(&a);
}

template void attention_fast(const AttentionOn<float>&) noexcept;
template void attention_fast(const AttentionOn<Bf16>&) noexcept;
template void attention_fast(const AttentionOn<F16>&) noexcept;
template void attention_backward_fast(const AttentionBackwardOn<float>&) noexcept;
template void attention_backward_fast(const AttentionBackwardOn<Bf16>&) noexcept;
template void attention_backward_fast(const AttentionBackwardOn<F16>&) noexcept;
template void attention_decode_fast(const AttentionDecodeOn<float>&) noexcept;
template void attention_decode_fast(const AttentionDecodeOn<Bf16>&) noexcept;
template void attention_decode_fast(const AttentionDecodeOn<F16>&) noexcept;

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
