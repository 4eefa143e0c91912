// Dropout on its own (backward) and at the end of a residual branch (forward). Elements of a
// sequence, (T, C), are taken as one run of T * C.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/dropout.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h:
#include "backend/cpu/kernels/any_precision.h"
#include "backend/cpu/kernels/chunks.h"
#include "backend/cpu/kernels/dropout-inl.h"
#include "backend/cpu/kernels/fast_kernels.h"
#include "backend/cpu/kernels/float16-inl.h"
#include "backend/cpu/kernels/vectors-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace snug::cpu::HWY_NAMESPACE {

// Elements [begin, end) of the batch's sequence b.
template <class X>
HWY_INLINE void residual_add_range_of(const ResidualAddOn<X>& op, std::int64_t b,
                                      std::int64_t begin, std::int64_t end) {
  const hn::ScalableTag<float> d;
  const std::int64_t lanes = lane_count(d), offset = b * op.T * op.C + begin;
  const X* residual = op.residual + offset;
  const X* branch = op.branch + offset;
  X* out = op.out + offset;
  if (op.dropout.threshold == 0) {
    for (std::int64_t i = 0, rest = end - begin; rest > 0; i += lanes, rest -= lanes) {
      const auto x = load_upto(d, residual + i, rest);
      store_upto(hn::Add(x, load_upto(d, branch + i, rest)), d, out + i, rest);
    }
    return;
  }
  for_each_mask_tile(dropout_stream(op.dropout, b), begin, end - begin,
                     [&](std::int64_t i, std::int64_t tile, const float* keep) HWY_ATTR {
                       for (std::int64_t j = 0, rest = tile; rest > 0; j += lanes, rest -= lanes) {
                         const auto x = load_upto(d, residual + i + j, rest);
                         const auto y = load_upto(d, branch + i + j, rest);
                         store_upto(hn::MulAdd(y, load_upto(d, keep + j, rest), x), d, out + i + j,
                                    rest);
                       }
                     });
}

template <class X>
HWY_INLINE void dropout_backward_range_of(const DropoutBackwardOn<X>& op, std::int64_t b,
                                          std::int64_t begin, std::int64_t end) {
  const std::int64_t offset = b * op.T * op.C + begin;
  apply_dropout(dropout_stream(op.dropout, b), begin, end - begin, op.dout + offset,
                op.din + offset);
}

void residual_add_range(AnyPrecision<ResidualAddOn> op, std::int64_t b, std::int64_t begin,
                        std::int64_t end) {
  std::visit([&](const auto* a) HWY_ATTR { residual_add_range_of(*a, b, begin, end); }, op);
}
void dropout_backward_range(AnyPrecision<DropoutBackwardOn> op, std::int64_t b, std::int64_t begin,
                            std::int64_t end) {
  std::visit([&](const auto* a) HWY_ATTR { dropout_backward_range_of(*a, b, begin, end); }, op);
}

}  // namespace snug::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <cstring>

namespace snug::cpu {

HWY_EXPORT(residual_add_range);
HWY_EXPORT(dropout_backward_range);

template <class X>
void residual_add_fast(const ResidualAddOn<X>& op) noexcept {
  for_each_sequence_chunk(op.B, op.T * op.C,
                          [&](std::int64_t b, std::int64_t begin, std::int64_t end) {
                            HWY_DYNAMIC_DISPATCH(residual_add_range)(&op, b, begin, end);
                          });
}

template <class X>
void dropout_backward_fast(const DropoutBackwardOn<X>& op) noexcept {
  if (op.dropout.threshold == 0) {
    if (op.din == op.dout) return;
    for_each_chunk(op.B * op.T * op.C, [&](std::int64_t begin, std::int64_t end) {
      std::memcpy(op.din + begin, op.dout + begin,
                  static_cast<std::size_t>(end - begin) * sizeof(X));
    });
    return;
  }
  for_each_sequence_chunk(op.B, op.T * op.C,
                          [&](std::int64_t b, std::int64_t begin, std::int64_t end) {
                            HWY_DYNAMIC_DISPATCH(dropout_backward_range)(&op, b, begin, end);
                          });
}

template void residual_add_fast(const ResidualAddOn<float>&) noexcept;
template void residual_add_fast(const ResidualAddOn<Bf16>&) noexcept;
template void residual_add_fast(const ResidualAddOn<F16>&) noexcept;
template void dropout_backward_fast(const DropoutBackwardOn<float>&) noexcept;
template void dropout_backward_fast(const DropoutBackwardOn<Bf16>&) noexcept;
template void dropout_backward_fast(const DropoutBackwardOn<F16>&) noexcept;

}  // namespace snug::cpu
#endif  // HWY_ONCE
