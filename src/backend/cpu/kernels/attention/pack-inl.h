// Operands of attention's micro-kernel: the register tile's shape, and rows of q, k, v and dout
// packed as it reads them. Per target; include inside a foreach_target file.

#if defined(SNUG_BACKEND_CPU_KERNELS_ATTENTION_PACK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SNUG_BACKEND_CPU_KERNELS_ATTENTION_PACK_INL_H_
#undef SNUG_BACKEND_CPU_KERNELS_ATTENTION_PACK_INL_H_
#else
#define SNUG_BACKEND_CPU_KERNELS_ATTENTION_PACK_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

#include "backend/cpu/kernels/attention/layout.h"
#include "backend/cpu/kernels/float16-inl.h"

HWY_BEFORE_NAMESPACE();
namespace snug::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
using FloatVec = hn::Vec<FloatTag>;

// Rows of the micro-kernel, whose tile is kRows x 2 vectors. AVX-512 has 32 registers: 24 sums, 2
// columns, broadcasts from memory. With 16 registers: 12 sums, 2 columns, 1 broadcast.
#if HWY_TARGET <= HWY_AVX3
constexpr std::int64_t kRows = 12;
#else
constexpr std::int64_t kRows = 6;
#endif
constexpr std::int64_t kLanes = HWY_LANES(float);
constexpr std::int64_t kColumns = 2 * kLanes;
static_assert(kLanes <= kMaxLanes && kQueryTile % kRows == 0 && kKeyTile % kRows == 0 &&
              kKeyTile % kColumns == 0);

// Rows of a (T, stride) matrix: one head's q, k, v or out.
template <class X>
struct Rows {
  const X* data;
  std::int64_t stride, count, D;
};

// to[r * padded_D + d] = scale * row r, columns D.. zero.
template <class X>
HWY_INLINE void pack_rows(const Rows<X>& rows, float scale, std::int64_t padded_D,
                          float* HWY_RESTRICT to) {
  const FloatTag d;
  for (std::int64_t r = 0; r < rows.count; ++r, to += padded_D) {
    const X* HWY_RESTRICT from = rows.data + r * rows.stride;
    std::int64_t n = 0;
    for (; n + kLanes <= rows.D; n += kLanes)
      hn::Store(hn::Mul(load_wide(d, from + n), hn::Set(d, scale)), d, to + n);
    for (; n < rows.D; ++n) to[n] = to_float(from[n]) * scale;
    for (; n < padded_D; ++n) to[n] = 0.0f;
  }
}

#if HWY_TARGET != HWY_SCALAR
// v's groups of four lanes, `step` floats apart.
template <class D>
HWY_INLINE void store_fours(D d, hn::Vec<D> v, std::int64_t step, float* to) {
  constexpr std::int64_t kFours = hn::MaxLanes(D()) / 4;
  if constexpr (kFours == 1) {
    hn::StoreU(v, d, to);
  } else {
    const hn::Half<D> half;
    store_fours(half, hn::LowerHalf(half, v), step, to);
    store_fours(half, hn::UpperHalf(half, v), step, to + kFours / 2 * step);
  }
}

// to[n * kWidth + r] = scale * from[r * stride + n] for four rows r and one vector of n.
template <std::int64_t kWidth, class D, class X>
HWY_INLINE void transpose_vectors(D d, const X* HWY_RESTRICT from, std::int64_t stride, float scale,
                                  float* HWY_RESTRICT to) {
  const hn::Repartition<double, D> dd;
  const auto factor = hn::Set(d, scale);
  const auto row0 = hn::Mul(load_wide(d, from), factor);
  const auto row1 = hn::Mul(load_wide(d, from + stride), factor);
  const auto row2 = hn::Mul(load_wide(d, from + 2 * stride), factor);
  const auto row3 = hn::Mul(load_wide(d, from + 3 * stride), factor);
  const auto low01 = hn::BitCast(dd, hn::InterleaveLower(d, row0, row1));
  const auto low23 = hn::BitCast(dd, hn::InterleaveLower(d, row2, row3));
  const auto high01 = hn::BitCast(dd, hn::InterleaveUpper(d, row0, row1));
  const auto high23 = hn::BitCast(dd, hn::InterleaveUpper(d, row2, row3));
  const auto store = [&](auto columns, std::int64_t n) HWY_ATTR {
    store_fours(d, hn::BitCast(d, columns), 4 * kWidth, to + n * kWidth);
  };
  store(hn::InterleaveLower(dd, low01, low23), 0);
  store(hn::InterleaveUpper(dd, low01, low23), 1);
  store(hn::InterleaveLower(dd, high01, high23), 2);
  store(hn::InterleaveUpper(dd, high01, high23), 3);
}
#endif

// to[n * kWidth + r] = scale * from[r * stride + n] for four rows r and all n < D.
template <std::int64_t kWidth, class X>
HWY_INLINE void transpose_four_rows(const X* HWY_RESTRICT from, std::int64_t stride, std::int64_t D,
                                    float scale, float* HWY_RESTRICT to) {
  std::int64_t n = 0;
#if HWY_TARGET != HWY_SCALAR
  for (; n + kLanes <= D; n += kLanes)
    transpose_vectors<kWidth>(FloatTag(), from + n, stride, scale, to + n * kWidth);
  for (; n + 4 <= D; n += 4) {
    transpose_vectors<kWidth>(hn::FixedTag<float, 4>(), from + n, stride, scale, to + n * kWidth);
  }
#endif
  for (; n < D; ++n)
    for (std::int64_t r = 0; r < 4; ++r)
      to[n * kWidth + r] = to_float(from[r * stride + n]) * scale;
}

// Panels of kWidth rows, each transposed to (D, kWidth); rows beyond the count are zero. A width
// that is no multiple of four ends with four rows that overlap the ones before.
template <std::int64_t kWidth, class X>
HWY_INLINE void pack_panels(const Rows<X>& rows, float scale, float* HWY_RESTRICT to) {
  for (std::int64_t first = 0; first < rows.count; first += kWidth, to += rows.D * kWidth) {
    const std::int64_t present = std::min(kWidth, rows.count - first);
    if (present < kWidth) std::fill_n(to, rows.D * kWidth, 0.0f);
    std::int64_t r = 0;
    while (kWidth >= 4 && r < kWidth && std::min(r, kWidth - 4) + 4 <= present) {
      r = std::min(r, kWidth - 4);
      transpose_four_rows<kWidth>(rows.data + (first + r) * rows.stride, rows.stride, rows.D, scale,
                                  to + r);
      r += 4;
    }
    for (; r < present; ++r) {
      const X* from = rows.data + (first + r) * rows.stride;
      for (std::int64_t n = 0; n < rows.D; ++n) to[n * kWidth + r] = to_float(from[n]) * scale;
    }
  }
}

// out[0, D) = factor * from[0, D), from on a vector boundary.
template <class X>
HWY_INLINE void write_row(const float* HWY_RESTRICT from, float factor, std::int64_t D,
                          X* HWY_RESTRICT out) {
  const FloatTag d;
  std::int64_t n = 0;
  for (; n + kLanes <= D; n += kLanes)
    store_narrow(hn::Mul(hn::Load(d, from + n), hn::Set(d, factor)), d, out + n);
  for (; n < D; ++n) out[n] = nearest<X>(from[n] * factor);
}

template <class X>
HWY_INLINE float dot_row(const X* HWY_RESTRICT x, const X* HWY_RESTRICT y, std::int64_t D) {
  const FloatTag d;
  FloatVec sum = hn::Zero(d);
  std::int64_t n = 0;
  for (; n + kLanes <= D; n += kLanes)
    sum = hn::MulAdd(load_wide(d, x + n), load_wide(d, y + n), sum);
  float total = hn::GetLane(hn::SumOfLanes(d, sum));
  for (; n < D; ++n) total += to_float(x[n]) * to_float(y[n]);
  return total;
}

}  // namespace snug::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // SNUG_BACKEND_CPU_KERNELS_ATTENTION_PACK_INL_H_
