// Gradient of a bias: for each sequence the sum of its T rows, top to bottom, then added to what is
// there. Threads share columns, so every column has one owner and one order.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/bias.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h:
#include "backend/cpu/kernels/any_precision.h"
#include "backend/cpu/kernels/chunks.h"
#include "backend/cpu/kernels/fast_kernels.h"
#include "backend/cpu/kernels/float16-inl.h"
#include "backend/cpu/kernels/vectors-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace snug::cpu::HWY_NAMESPACE {

// Columns [begin, end), at most kColumnBlock.
template <class X>
HWY_INLINE void bias_backward_columns_of(const BiasBackwardOn<X>& op, std::int64_t begin,
                                         std::int64_t end) {
  HWY_ALIGN float sum[kColumnBlock];
  const X* row = op.dy + begin;  // walks (B, T) rows
  for (std::int64_t b = 0; b < op.B; ++b) {
    std::memset(sum, 0, sizeof(sum));
    for (std::int64_t t = 0; t < op.T; ++t, row += op.N) add_to(sum, row, end - begin);
    add_to(op.dbias + begin, sum, end - begin);
  }
}

void bias_backward_columns(AnyPrecision<BiasBackwardOn> op, std::int64_t begin, std::int64_t end) {
  std::visit([&](const auto* a) HWY_ATTR { bias_backward_columns_of(*a, begin, end); }, op);
}

}  // namespace snug::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace snug::cpu {

HWY_EXPORT(bias_backward_columns);

template <class X>
void bias_backward_fast(const BiasBackwardOn<X>& op) noexcept {
  for_each_column_block(op.N, op.B * op.T, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(bias_backward_columns)(&op, begin, end);
  });
}

template void bias_backward_fast(const BiasBackwardOn<float>&) noexcept;
template void bias_backward_fast(const BiasBackwardOn<Bf16>&) noexcept;
template void bias_backward_fast(const BiasBackwardOn<F16>&) noexcept;

}  // namespace snug::cpu
#endif  // HWY_ONCE
