// Tile products on AVX-512's vdpbf16ps, which adds two products to each of 16 sums.
#include "backend/cpu/widened/tile_tasks.h"

#if defined(__x86_64__)
#include <algorithm>
#include <array>
#include <cstring>

#ifdef SNUG_EMULATED_INTRINSICS
#include "backend/cpu/widened/emulated_intrinsics.h"
#else
#include <immintrin.h>
#endif
#include "hwy/base.h"

// GCC 12 warns of the undefined operands of its own intrinsics.
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

// Called only where avx512_bf16_usable(); as in amx_tiles.cc.
HWY_PUSH_ATTRIBUTES("avx512f,avx512bw,avx512vl,avx512bf16")

#include "backend/cpu/widened/tile_worker-inl.h"

namespace snug::cpu {
namespace {

// Rows of sums in registers, two vectors each: 16 of the 32 registers hide a latency of six
// instructions, and 32 rows are four times that.
constexpr int kRowsAtOnce = 8;

// A pair of neighbouring terms of A, for all columns.
__m512bh pair_at(const std::byte* x) {
  std::int32_t pair;
  std::memcpy(&pair, x, sizeof pair);
  return (__m512bh)_mm512_set1_epi32(pair);
}

__m512bh pairs_at(const std::byte* b) { return (__m512bh)_mm512_load_si512(b); }

struct Avx512Bf16Unit {
  static void add(const Sums<const float>& from, const TilePanelA& a, const std::byte* b,
                  std::int64_t blocks, const Sums<float>& to) {
    for (std::int64_t row = 0; row < kTilePanel; row += kRowsAtOnce) {
      const TilePanelA lines{a.data + row * a.line_bytes, a.line_bytes, a.block_bytes};
      add_rows({from.data + row * from.stride, from.stride}, lines, b, blocks,
               {to.data + row * to.stride, to.stride});
    }
  }

 private:
  static void add_rows(const Sums<const float>& from, const TilePanelA& a, const std::byte* b,
                       std::int64_t blocks, const Sums<float>& to) {
    __m512 low[kRowsAtOnce], high[kRowsAtOnce];
#pragma GCC unroll 8
    for (int r = 0; r < kRowsAtOnce; ++r) {
      low[r] = _mm512_loadu_ps(from.data + r * from.stride);
      high[r] = _mm512_loadu_ps(from.data + r * from.stride + 16);
    }
    const std::byte* x = a.data;
    for (std::int64_t i = 0; i < blocks; ++i, x += a.block_bytes, b += kTileBlockBytes) {
      for (std::int64_t p = 0; p < kTileLine; p += 4) {
        const __m512bh left = pairs_at(b + p * 16), right = pairs_at(b + kTileSize + p * 16);
#pragma GCC unroll 8
        for (int r = 0; r < kRowsAtOnce; ++r) {
          const __m512bh terms = pair_at(x + r * a.line_bytes + p);
          low[r] = _mm512_dpbf16_ps(low[r], terms, left);
          high[r] = _mm512_dpbf16_ps(high[r], terms, right);
        }
      }
    }
#pragma GCC unroll 8
    for (int r = 0; r < kRowsAtOnce; ++r) {
      _mm512_storeu_ps(to.data + r * to.stride, low[r]);
      _mm512_storeu_ps(to.data + r * to.stride + 16, high[r]);
    }
  }
};

}  // namespace

void work_on_avx512_bf16(const TileTasks& tasks, int thread) {
  work_on_tiles<Avx512Bf16Unit>(tasks, thread);
}

}  // namespace snug::cpu

HWY_POP_ATTRIBUTES

#else  // never called: avx512_bf16_usable() is false

#include <cstdlib>

void snug::cpu::work_on_avx512_bf16(const TileTasks&, int) { std::abort(); }

#endif
