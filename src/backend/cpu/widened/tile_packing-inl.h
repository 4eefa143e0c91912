// Operands of a tile product as AMX's tiles and vdpbf16ps take them, and sums rounded to bfloat16.
// AVX-512 with F, BW and VL. For one unit's file each: included after the intrinsics and within the
// unit's attributes, so in an unnamed namespace, and after all that is not to have them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "backend/cpu/widened/tile_division.h"
#include "backend/cpu/widened/widened_product.h"

namespace snug::cpu {
namespace {

constexpr std::int64_t kTileRows = 16, kTileLine = 64, kTileSize = kTileRows * kTileLine;

__mmask32 first_words(std::int64_t count) {
  return count >= 32 ? ~0u : (1u << std::max<std::int64_t>(count, 0)) - 1;
}

// 32 words of a row, zero from `count` on; all zero where the row does not exist.
__m512i load_words(const Bf16* row, std::int64_t count, bool exists) {
  return _mm512_maskz_loadu_epi16(exists ? first_words(count) : 0, row);
}

// Terms 2 p and 2 p + 1 of columns 0 to 15 and 16 to 31, as one dword each.
struct PairedRow {
  __m512i low, high;
};
PairedRow paired_rows(__m512i even, __m512i odd) {
  alignas(64) static constexpr auto kOrder = [] {
    std::array<std::uint16_t, 64> order{};
    for (std::uint16_t i = 0; i < 32; ++i) {
      order[2 * i] = i;
      order[2 * i + 1] = static_cast<std::uint16_t>(i + 32);
    }
    return order;
  }();
  const __m512i low = _mm512_load_si512(kOrder.data()), high = _mm512_load_si512(&kOrder[32]);
  return {_mm512_permutex2var_epi16(even, low, odd), _mm512_permutex2var_epi16(even, high, odd)};
}

// (16, 16) dwords transposed, written as the 16 lines of a tile.
void store_transposed(__m512i (&r)[16], std::byte* to) {
  __m512i t[16];
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_epi32(r[i], r[i + 1]);
    t[i + 1] = _mm512_unpackhi_epi32(r[i], r[i + 1]);
  }
  for (int i = 0; i < 16; i += 4) {
    r[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
    r[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
    r[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
    r[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
  }
  for (int c = 0; c < 4; ++c) {
    t[c] = _mm512_shuffle_i32x4(r[c], r[4 + c], 0x88);
    t[4 + c] = _mm512_shuffle_i32x4(r[c], r[4 + c], 0xdd);
    t[8 + c] = _mm512_shuffle_i32x4(r[8 + c], r[12 + c], 0x88);
    t[12 + c] = _mm512_shuffle_i32x4(r[8 + c], r[12 + c], 0xdd);
  }
  for (int c = 0; c < 4; ++c) {
    _mm512_store_si512(to + c * kTileLine, _mm512_shuffle_i32x4(t[c], t[8 + c], 0x88));
    _mm512_store_si512(to + (4 + c) * kTileLine, _mm512_shuffle_i32x4(t[4 + c], t[12 + c], 0x88));
    _mm512_store_si512(to + (8 + c) * kTileLine, _mm512_shuffle_i32x4(t[c], t[8 + c], 0xdd));
    _mm512_store_si512(to + (12 + c) * kTileLine, _mm512_shuffle_i32x4(t[4 + c], t[12 + c], 0xdd));
  }
}

// A block of a panel: lines [first, first + count), terms [k, k + depth), at most 32 of each.
struct TileSource {
  const LinesOf<Bf16>& lines;
  std::int64_t first, count, k, depth;

  const Bf16* start() const {
    return lines.data +
           (lines.k_along_stride ? k * lines.stride + first : first * lines.stride + k);
  }
};

// Lines of A, their terms side by side: two tiles of 16 lines.
void pack_a(const TileSource& s, std::byte* to) {
  const Bf16* x = s.start();
  if (!s.lines.k_along_stride) {
    for (std::int64_t i = 0; i < kTilePanel; ++i) {
      const bool exists = i < s.count;
      _mm512_store_si512(to + i * kTileLine,
                         load_words(exists ? x + i * s.lines.stride : x, s.depth, exists));
    }
    return;
  }
  __m512i low[16], high[16];
  for (std::int64_t p = 0; p < 16; ++p) {
    const bool even = 2 * p < s.depth, odd = 2 * p + 1 < s.depth;
    const PairedRow row =
        paired_rows(load_words(even ? x + 2 * p * s.lines.stride : x, s.count, even),
                    load_words(odd ? x + (2 * p + 1) * s.lines.stride : x, s.count, odd));
    low[p] = row.low;
    high[p] = row.high;
  }
  store_transposed(low, to);
  store_transposed(high, to + kTileSize);
}

// Pairs of terms of B, their columns side by side: two tiles of 16 columns.
void pack_b(const TileSource& s, std::byte* to) {
  const Bf16* x = s.start();
  if (s.lines.k_along_stride) {
    for (std::int64_t p = 0; p < 16; ++p) {
      const bool even = 2 * p < s.depth, odd = 2 * p + 1 < s.depth;
      const PairedRow row =
          paired_rows(load_words(even ? x + 2 * p * s.lines.stride : x, s.count, even),
                      load_words(odd ? x + (2 * p + 1) * s.lines.stride : x, s.count, odd));
      _mm512_store_si512(to + p * kTileLine, row.low);
      _mm512_store_si512(to + kTileSize + p * kTileLine, row.high);
    }
    return;
  }
  for (std::int64_t half = 0; half < 2; ++half) {
    __m512i rows[16];
    for (std::int64_t i = 0; i < 16; ++i) {
      const std::int64_t line = half * 16 + i;
      const bool exists = line < s.count;
      rows[i] = load_words(exists ? x + line * s.lines.stride : x, s.depth, exists);
    }
    store_transposed(rows, to + half * kTileSize);
  }
}

// A row of sums to the nearest bfloat16.
void store_rounded(const float* from, std::int64_t count, Bf16* to) {
  for (std::int64_t half = 0; half < 2 && half * 16 < count; ++half) {
    const __m512 x = _mm512_load_ps(from + half * 16);
    const __m512i bits = _mm512_castps_si512(x);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    const __m512i near = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
    const __mmask16 is_nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
    const __m512i kept = _mm512_mask_or_epi32(near, is_nan, bits, _mm512_set1_epi32(0x400000));
    const auto lanes =
        static_cast<__mmask16>(first_words(std::min<std::int64_t>(count - half * 16, 16)));
    _mm512_mask_cvtepi32_storeu_epi16(to + half * 16, lanes, _mm512_srli_epi32(kept, 16));
  }
}

}  // namespace
}  // namespace snug::cpu
