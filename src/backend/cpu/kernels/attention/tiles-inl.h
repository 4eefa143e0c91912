// What both passes of attention are made of: exp2 on vectors, the register-blocked micro-kernel,
// the causal tile and its dropout. Per target; include inside a foreach_target file.

#if defined(SNUG_BACKEND_CPU_KERNELS_ATTENTION_TILES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SNUG_BACKEND_CPU_KERNELS_ATTENTION_TILES_INL_H_
#undef SNUG_BACKEND_CPU_KERNELS_ATTENTION_TILES_INL_H_
#else
#define SNUG_BACKEND_CPU_KERNELS_ATTENTION_TILES_INL_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

#include "backend/cpu/kernels/attention/pack-inl.h"
#include "backend/cpu/kernels/kernels.h"
#include "backend/cpu/kernels/philox-inl.h"

HWY_BEFORE_NAMESPACE();
namespace snug::cpu::HWY_NAMESPACE {

// 2^x for x <= 127, relative error below 2^-23 (1.2 ulp; truncation alone 9.2e-9); 0 for
// x < -126.5, so for -inf. x = n + f with n an integer and |f| <= 1/2: adding 1.5 * 2^23 + 127
// rounds x to an integer and leaves n + 127 in the low bits, ready to become an exponent; n = -127
// makes the factor +0. The polynomial interpolates (2^f - 1) / f at the six Chebyshev nodes. NaN
// stays NaN, which Max does not promise.
HWY_INLINE FloatVec exp2_vector(FloatVec x) {
  const FloatTag d;
  const hn::RebindToUnsigned<FloatTag> d32;
  const auto magic = hn::Set(d, 12582912.0f + 127.0f);
  const auto lowest = hn::Set(d, -127.0f);
  x = hn::IfThenElse(hn::Lt(x, lowest), lowest, x);
  const auto shifted = hn::Add(x, magic);
  const auto f = hn::Sub(x, hn::Sub(shifted, magic));
  auto y = hn::Set(d, 0x1.44138ap-13f);
  y = hn::MulAdd(y, f, hn::Set(d, 0x1.5f0890p-10f));
  y = hn::MulAdd(y, f, hn::Set(d, 0x1.3b2a54p-7f));
  y = hn::MulAdd(y, f, hn::Set(d, 0x1.c6af6cp-5f));
  y = hn::MulAdd(y, f, hn::Set(d, 0x1.ebfbe0p-3f));
  y = hn::MulAdd(y, f, hn::Set(d, 0x1.62e430p-1f));
  y = hn::MulAdd(y, f, hn::Set(d, 1.0f));
  return hn::Mul(y, hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(d32, shifted))));
}

// What becomes of the product: C = AB, C = C + AB, or C = diag(c_scale) C + AB.
enum class Write { kReplace, kAdd, kRescaleAdd };

// Operands of one micro-kernel call: A (kRows, depth), B (depth, kVectors * kLanes).
struct Block {
  std::int64_t depth;
  const float* a;
  const float* b;         // rows on vector boundaries
  std::int64_t b_stride;  // floats between rows of B
  float* c;
  std::int64_t c_stride;
  const float* c_scale = nullptr;  // (kRows), for kRescaleAdd
};

// C (kRows, kVectors * kLanes) from AB, where A(row, k) = a[row * kRowStep + k * kDepthStep]. The
// steps are constants so that every broadcast is one load with an immediate offset.
template <int kVectors, std::int64_t kRowStep, std::int64_t kDepthStep, Write kWrite>
HWY_NOINLINE void multiply_block(const Block& block) {
  const FloatTag d;
  float* HWY_RESTRICT c = block.c;  // by value: no store through it changes the block
  const std::int64_t c_stride = block.c_stride;
  FloatVec sums[kRows][kVectors];
#pragma GCC unroll 16
  for (std::int64_t row = 0; row < kRows; ++row)
#pragma GCC unroll 2
    for (int n = 0; n < kVectors; ++n) sums[row][n] = hn::Zero(d);
  // C is wanted when the sums are done, by when it is there: its lines are too far apart for the
  // processor to guess.
  if constexpr (kWrite != Write::kReplace) {
#pragma GCC unroll 16
    for (std::int64_t row = 0; row < kRows; ++row) {
      hwy::Prefetch(c + row * c_stride);
      if constexpr (kVectors * kLanes * sizeof(float) > 64) {
        hwy::Prefetch(c + row * c_stride + kLanes);
      }
    }
  }

  const float* HWY_RESTRICT a = block.a;
  const float* HWY_RESTRICT b = block.b;
  const std::int64_t b_stride = block.b_stride;
  for (std::int64_t k = 0; k < block.depth; ++k) {
    FloatVec columns[kVectors];
#pragma GCC unroll 2
    for (int n = 0; n < kVectors; ++n) columns[n] = hn::Load(d, b + n * kLanes);
#pragma GCC unroll 16
    for (std::int64_t row = 0; row < kRows; ++row) {
      const FloatVec value = hn::Set(d, a[row * kRowStep]);
#pragma GCC unroll 2
      for (int n = 0; n < kVectors; ++n) sums[row][n] = hn::MulAdd(value, columns[n], sums[row][n]);
    }
    a += kDepthStep;
    b += b_stride;
  }

#pragma GCC unroll 16
  for (std::int64_t row = 0; row < kRows; ++row) {
#pragma GCC unroll 2
    for (int n = 0; n < kVectors; ++n) {
      float* to = c + row * c_stride + n * kLanes;
      FloatVec sum = sums[row][n];
      if constexpr (kWrite == Write::kAdd) sum = hn::Add(hn::Load(d, to), sum);
      if constexpr (kWrite == Write::kRescaleAdd)
        sum = hn::MulAdd(hn::Load(d, to), hn::Set(d, block.c_scale[row]), sum);
      hn::Store(sum, d, to);
    }
  }
}

// One or two vectors of columns of C = AB from `first` on, of `width` in all (a multiple of
// kLanes).
template <std::int64_t kRowStep, std::int64_t kDepthStep, Write kWrite>
HWY_INLINE void multiply_columns(Block block, std::int64_t first, std::int64_t width) {
  block.b += first;
  block.c += first;
  if (width - first >= kColumns) {
    multiply_block<2, kRowStep, kDepthStep, kWrite>(block);
  } else {
    multiply_block<1, kRowStep, kDepthStep, kWrite>(block);
  }
}

// Queries [i0, i0 + rows) against keys [k0, k0 + kKeyTile), of which row r sees i0 + r + 1 - k0.
struct Tile {
  std::int64_t i0, rows, k0;

  // Keys that row r sees; never 0, because k0 <= i0.
  std::int64_t visible(std::int64_t r) const { return std::min(kKeyTile, i0 + r + 1 - k0); }
  // Keys that some row of the micro-kernel's kRows from `first_row` sees.
  std::int64_t visible_to_block(std::int64_t first_row) const {
    return visible(std::min(first_row + kRows, rows) - 1);
  }
};

// scores (kQueryTile, kKeyTile) = A B of panels of depth D. Blocks beyond the diagonal are left
// out: what lies there is undefined and must be masked. Panel by panel: B's stays in L1 for all of
// A.
HWY_INLINE void multiply_scores(const Tile& tile, const float* a_panels, const float* b_panels,
                                std::int64_t D, float* scores) {
  const std::int64_t columns = tile.visible(tile.rows - 1);
  for (std::int64_t column = 0; column < columns; column += kColumns) {
    for (std::int64_t row = 0; row < tile.rows; row += kRows) {
      if (column >= tile.visible_to_block(row)) continue;
      multiply_block<2, 1, kRows, Write::kReplace>({.depth = D,
                                                    .a = a_panels + row * D,
                                                    .b = b_panels + column * D,
                                                    .b_stride = kColumns,
                                                    .c = scores + row * kKeyTile + column,
                                                    .c_stride = kKeyTile});
    }
  }
}

// What the row functions need to know about the head's dropout; off when dropout.threshold is 0.
struct HeadDropout {
  DropoutStream stream;
  std::uint64_t first_element, row_stride;  // of query 0, between queries

  HeadDropout(const Dropout& dropout, std::int64_t b, std::int64_t h, std::int64_t T)
      : stream(dropout_stream(dropout, b)) {
    row_stride = static_cast<std::uint64_t>(round_up(T, 4));
    first_element = static_cast<std::uint64_t>(h * T) * row_stride;
  }
  bool on() const { return stream.threshold != 0; }
  float scale() const { return on() ? stream.scale : 1.0f; }
  std::uint64_t element(std::int64_t i, std::int64_t j) const {
    return first_element + static_cast<std::uint64_t>(i) * row_stride +
           static_cast<std::uint64_t>(j);
  }
};

}  // namespace snug::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // SNUG_BACKEND_CPU_KERNELS_ATTENTION_TILES_INL_H_
