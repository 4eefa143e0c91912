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
#include "base/integers.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace snug::cpu::HWY_NAMESPACE {

// Two vectors of a line, and of the row that they are multiplied with. bfloat16 comes as pairs, of
// which one half is a float after a shift and the other one after a mask: with the products, five
// instructions for 16 terms instead of the twelve that widening vector by vector takes. The row is
// brought into that order once.
template <class D>
struct TwoVectors {
  hn::Vec<D> first, second;
};
template <class D, class X>
HWY_INLINE TwoVectors<D> load_two(D d, const X* line) {
  return {load_wide(d, line), load_wide(d, line + lane_count(d))};
}
template <class D>
HWY_INLINE TwoVectors<D> load_two(D d, const Bf16* line) {
  const hn::RebindToUnsigned<D> d32;
  const auto pairs = hn::LoadU(d32, reinterpret_cast<const std::uint32_t*>(line));
  return {hn::BitCast(d, hn::ShiftLeft<16>(pairs)),
          hn::BitCast(d, hn::And(pairs, hn::Set(d32, 0xffff0000u)))};
}

template <class X>
HWY_INLINE void widen_row(const X* from, std::int64_t count, float* to) {
  const hn::ScalableTag<float> d;
  const std::int64_t lanes = lane_count(d);
  std::int64_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    const auto two = load_two(d, from + i);
    hn::StoreU(two.first, d, to + i);
    hn::StoreU(two.second, d, to + i + lanes);
  }
  for (; i < count; ++i) to[i] = to_float(from[i]);
}

// sums[s] = row times the line `s * step` elements behind `line`, each summed as it would be alone.
template <int kLines, class X>
HWY_INLINE void multiply_lines(const float* row, const X* line, std::int64_t step, std::int64_t k,
                               float* sums) {
  const hn::ScalableTag<float> d;
  const std::int64_t lanes = lane_count(d);
  hn::Vec<decltype(d)> first[kLines], second[kLines];
#pragma GCC unroll 4
  for (int s = 0; s < kLines; ++s) first[s] = second[s] = hn::Zero(d);
  std::int64_t i = 0;
  for (; i + 2 * lanes <= k; i += 2 * lanes) {
    const auto of_first = hn::LoadU(d, row + i), of_second = hn::LoadU(d, row + i + lanes);
#pragma GCC unroll 4
    for (int s = 0; s < kLines; ++s) {
      const auto two = load_two(d, line + s * step + i);
      first[s] = hn::MulAdd(of_first, two.first, first[s]);
      second[s] = hn::MulAdd(of_second, two.second, second[s]);
    }
  }
  for (; i < k; i += lanes) {
    const auto of_row = load_upto(d, row + i, k - i);
#pragma GCC unroll 4
    for (int s = 0; s < kLines; ++s) {
      first[s] = hn::MulAdd(of_row, load_upto(d, line + s * step + i, k - i), first[s]);
    }
  }
#pragma GCC unroll 4
  for (int s = 0; s < kLines; ++s) sums[s] = sum_of_lanes(d, hn::Add(first[s], second[s]));
}

// Nearer streams than a page share it, and a processor fetches ahead within a page: they come at
// three quarters of a single one's rate, at 4.5 KiB at the same and beyond at up to 1.6 times
// (0064).
constexpr std::int64_t kNearestStreams = 4096;

// Elements [begin, end) of the result, in four streams through that part of the weight: a core
// waits for memory less when it asks at several places. Line after line where these would be near
// each other, as with many threads.
template <class X>
HWY_INLINE void one_row_of(const WidenedProductOn<X>& p, const float* row, std::int64_t begin,
                           std::int64_t end) {
  constexpr int kStreams = 4;
  const auto write = [&](std::int64_t n, float product) {
    const float sum = p.bias != nullptr ? product + p.bias[n] : product;
    if (p.y != nullptr) {
      p.y[n] = nearest<X>(sum);
    } else {
      p.c[n] = sum;
    }
  };
  float sums[kStreams];
  const std::int64_t quarter = (end - begin) / kStreams;
  const auto apart = quarter * p.b.stride * static_cast<std::int64_t>(sizeof(X));
  const std::int64_t part = apart < kNearestStreams ? 0 : quarter;
  for (std::int64_t n = begin; n < begin + part; ++n) {
    multiply_lines<kStreams>(row, p.b.data + n * p.b.stride, part * p.b.stride, p.k, sums);
    for (int s = 0; s < kStreams; ++s) write(n + s * part, sums[s]);
  }
  for (std::int64_t n = begin + kStreams * part; n < end; ++n) {
    multiply_lines<1>(row, p.b.data + n * p.b.stride, 0, p.k, sums);
    write(n, sums[0]);
  }
}

void one_row_range(AnyPrecision<WidenedProductOn> any, const float* row, std::int64_t begin,
                   std::int64_t end) {
  std::visit([&](const auto* p) HWY_ATTR { one_row_of(*p, row, begin, end); }, any);
}

// The row as floats, in the order in which lines are multiplied.
void widen_row_of(AnyPrecision<WidenedProductOn> any, float* to) {
  std::visit([&](const auto* p) HWY_ATTR { widen_row(p->a.data, p->k, to); }, any);
}

}  // namespace snug::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace snug::cpu {

HWY_EXPORT(one_row_range);
HWY_EXPORT(widen_row_of);

// Below so many elements of the weight the calling thread works alone: up to some 50 us. A team
// would halve that on an idle machine, and on a busy one wait for a thread that has no core.
constexpr std::int64_t kAlone = 1 << 18;
// Of a range of lines: its four streams then are 64 KiB apart in bfloat16. With many threads ranges
// are smaller.
constexpr std::int64_t kRangeElements = 1 << 17;

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
  HWY_DYNAMIC_DISPATCH(widen_row_of)(&p, row);
  return row;
}

}  // namespace

template <class X>
void run_one_row(const WidenedProductOn<X>& p, const Scratch& scratch) {
  const float* row = widened_row(p, scratch);
  if (p.n * p.k < kAlone) return HWY_DYNAMIC_DISPATCH(one_row_range)(&p, row, 0, p.n);
  // As many ranges for each thread: a team waits for its last.
  const std::int64_t ranges = round_up(ceil_div(p.n * p.k, kRangeElements), team_size());
  const std::int64_t grain = ceil_div(p.n, ranges);
  for_each_range(p.n, grain, p.k, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(one_row_range)(&p, row, begin, end);
  });
}

template void run_one_row(const WidenedProductOn<float>&, const Scratch&);
template void run_one_row(const WidenedProductOn<Bf16>&, const Scratch&);
template void run_one_row(const WidenedProductOn<F16>&, const Scratch&);

}  // namespace snug::cpu
#endif  // HWY_ONCE
