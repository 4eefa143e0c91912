#include "backend/cpu/widened/one_row.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/widened/one_row.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h:
#include <algorithm>

#include "backend/cpu/kernels/any_precision.h"
#include "backend/cpu/kernels/chunks.h"
#include "backend/cpu/kernels/float16-inl.h"
#include "base/error.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace snug::cpu::HWY_NAMESPACE {

// Elements [begin, end) of the result, `row` times line after line: memory is read in one stream,
// which processors fetch ahead. Two lines at a time halved the rate.
template <class X>
HWY_INLINE void one_row_of(const WidenedProductOn<X>& p, const float* row, std::int64_t begin,
                           std::int64_t end) {
  const hn::ScalableTag<float> d;
  for (std::int64_t n = begin; n < end; ++n) {
    const X* line = p.b.data + n * p.b.stride;
    const float product = sum_of_terms(d, p.k, [&](std::int64_t i, std::int64_t rest) HWY_ATTR {
      return hn::Mul(load_upto(d, row + i, rest), load_upto(d, line + i, rest));
    });
    const float sum = p.bias != nullptr ? product + p.bias[n] : product;
    if (p.y != nullptr) {
      p.y[n] = nearest<X>(sum);
    } else {
      p.c[n] = sum;
    }
  }
}

void one_row_range(AnyPrecision<WidenedProductOn> any, const float* row, std::int64_t begin,
                   std::int64_t end) {
  std::visit([&](const auto* p) HWY_ATTR { one_row_of(*p, row, begin, end); }, any);
}

}  // namespace snug::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace snug::cpu {

HWY_EXPORT(one_row_range);

// Below so many elements of the weight the calling thread works alone: up to some 50 us. A team
// would halve that on an idle machine, and on a busy one wait for a thread that has no core.
constexpr std::int64_t kAlone = 1 << 18;

namespace {

const float* widened_row(const WidenedProductOn<float>& p, const Scratch& /*scratch*/) {
  return p.a.data;
}

template <class X>
const float* widened_row(const WidenedProductOn<X>& p, const Scratch& scratch) {
  if (scratch.byte_count < one_row_scratch_bytes(p.k)) {
    throw InternalError("a product of one row without its scratch");
  }
  float* row = scratch.floats();
  for (std::int64_t i = 0; i < p.k; ++i) row[i] = to_float(p.a.data[i]);
  return row;
}

}  // namespace

template <class X>
void run_one_row(const WidenedProductOn<X>& p, const Scratch& scratch) {
  const float* row = widened_row(p, scratch);
  if (p.n * p.k < kAlone) return HWY_DYNAMIC_DISPATCH(one_row_range)(&p, row, 0, p.n);
  const std::int64_t grain = std::max<std::int64_t>(1, 4 * kChunk / p.k);
  for_each_range(p.n, grain, p.k, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(one_row_range)(&p, row, begin, end);
  });
}

template void run_one_row(const WidenedProductOn<float>&, const Scratch&);
template void run_one_row(const WidenedProductOn<Bf16>&, const Scratch&);
template void run_one_row(const WidenedProductOn<F16>&, const Scratch&);

}  // namespace snug::cpu
#endif  // HWY_ONCE
