#include "backend/cpu/split/panels.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include <algorithm>

#include "hwy/base.h"

// GCC 12 takes its own intrinsics' undefined operands for a mistake of their caller.
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

// Intrinsics, because Highway 1.0 knows neither AMX nor bfloat16 arithmetic. Called only where
// amx_usable(); the attributes keep the rest of the program free of these instructions.
HWY_PUSH_ATTRIBUTES("avx512f,avx512bw,avx512vl,amx-tile,amx-bf16")

namespace snug::cpu {
namespace {

constexpr std::int64_t kTile = 16;       // rows of a tile; also its columns of 32 bits
constexpr std::int64_t kLineBytes = 64;  // of one row of a tile
constexpr std::int64_t kTileBytes = kTile * kLineBytes;
constexpr std::int64_t kPieceBytes = 2 * kTileBytes;  // of a panel's block: two tiles side by side

__mmask16 first_lanes(std::int64_t count) {
  return static_cast<__mmask16>((1u << std::clamp<std::int64_t>(count, 0, kTile)) - 1);
}

// Three vectors of bfloat16, each in the upper half of its lane. The lower half is zero but for x2
// of floats so small that it is subnormal.
struct Pieces {
  __m512i x0, x1, x2;
};

HWY_INLINE __m512i nearest_bf16(__m512 x) {
  const __m512i half = _mm512_set1_epi32(0x8000), upper = _mm512_set1_epi32(~0xffff);
  return _mm512_and_si512(_mm512_add_epi32(_mm512_castps_si512(x), half), upper);
}

HWY_INLINE Pieces split(__m512 x) {
  const __m512i x0 = nearest_bf16(x);
  const __m512 rest = _mm512_sub_ps(x, _mm512_castsi512_ps(x0));
  const __m512i x1 = nearest_bf16(rest);
  return {x0, x1, _mm512_castps_si512(_mm512_sub_ps(rest, _mm512_castsi512_ps(x1)))};
}

// A tile's lane of 32 bits holds two neighbouring terms of the contraction. Any pairing serves if A
// and B have the same: term j of a block goes with term j + 16, so that no lane has to move.
HWY_INLINE __m512i paired(__m512i lower, __m512i upper) {
  constexpr int kOrOfAnd = 0xf8;  // a | (b & c)
  return _mm512_ternarylogic_epi32(_mm512_srli_epi32(lower, 16), upper, _mm512_set1_epi32(~0xffff),
                                   kOrOfAnd);
}

HWY_INLINE void store_pairs(__m512 lower, __m512 upper, std::byte* at) {
  const Pieces l = split(lower), u = split(upper);
  _mm512_store_si512(at, paired(l.x0, u.x0));
  _mm512_store_si512(at + kPieceBytes, paired(l.x1, u.x1));
  _mm512_store_si512(at + 2 * kPieceBytes, paired(l.x2, u.x2));
}

HWY_INLINE void store_zeros(std::byte* at) {
  store_pairs(_mm512_setzero_ps(), _mm512_setzero_ps(), at);
}

// One row of A's blocks from one line with k contiguous.
void pack_a_line(const float* x, std::int64_t depth, std::byte* row) {
  for (; depth >= kBlockDepth; depth -= kBlockDepth, x += kBlockDepth, row += kPanelBlockBytes) {
    store_pairs(_mm512_loadu_ps(x), _mm512_loadu_ps(x + kTile), row);
  }
  if (depth > 0) {
    store_pairs(_mm512_maskz_loadu_ps(first_lanes(depth), x),
                _mm512_maskz_loadu_ps(first_lanes(depth - kTile), x + kTile), row);
  }
}

// A panel of A from `count` lines with k contiguous.
void pack_a_lines(const float* x, std::int64_t stride, std::int64_t count, std::int64_t depth,
                  std::byte* panel) {
  for (std::int64_t i = 0; i < count; ++i)
    pack_a_line(x + i * stride, depth, panel + i * kLineBytes);
  for (std::int64_t i = count; i < kPanelWidth; ++i) {
    for (std::int64_t k = 0; k < depth; k += kBlockDepth) {
      store_zeros(panel + k / kBlockDepth * kPanelBlockBytes + i * kLineBytes);
    }
  }
}

// One block of B from `depth` rows of terms with `count` lines side by side.
void pack_b_block(const float* x, std::int64_t stride, std::int64_t count, std::int64_t depth,
                  std::byte* block) {
  for (std::int64_t half = 0; half < 2; ++half, x += kTile, count -= kTile) {
    const __mmask16 lanes = first_lanes(count);
    for (std::int64_t j = 0; j < kTile; ++j, block += kLineBytes) {
      const bool lower = j < depth, upper = j + kTile < depth;
      store_pairs(_mm512_maskz_loadu_ps(lower ? lanes : 0, lower ? x + j * stride : x),
                  _mm512_maskz_loadu_ps(upper ? lanes : 0, upper ? x + (j + kTile) * stride : x),
                  block);
    }
  }
}

__m512 low_pairs(__m512 a, __m512 b) {
  return _mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(a), _mm512_castps_pd(b)));
}

__m512 high_pairs(__m512 a, __m512 b) {
  return _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(a), _mm512_castps_pd(b)));
}

// to (16, 16), rows 32 apart, = from^T; `rows` x `columns` of from are there, the rest is zero.
void transpose_tile(const float* from, std::int64_t stride, std::int64_t rows, std::int64_t columns,
                    float* to) {
  const __mmask16 lanes = first_lanes(columns);
  __m512 r[kTile], t[kTile];
  for (std::int64_t i = 0; i < kTile; ++i) {
    r[i] = _mm512_maskz_loadu_ps(i < rows ? lanes : 0, i < rows ? from + i * stride : from);
  }
  for (int i = 0; i < kTile; i += 2) {
    t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
    t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
  }
  for (int i = 0; i < kTile; i += 4) {
    r[i] = low_pairs(t[i], t[i + 2]);
    r[i + 1] = high_pairs(t[i], t[i + 2]);
    r[i + 2] = low_pairs(t[i + 1], t[i + 3]);
    r[i + 3] = high_pairs(t[i + 1], t[i + 3]);
  }
  // Now lane group g of r[4 i + c] holds column 4 g + c of rows 4 i .. 4 i + 3.
  for (int c = 0; c < 4; ++c) {
    t[c] = _mm512_shuffle_f32x4(r[c], r[4 + c], 0x88);
    t[4 + c] = _mm512_shuffle_f32x4(r[c], r[4 + c], 0xdd);
    t[8 + c] = _mm512_shuffle_f32x4(r[8 + c], r[12 + c], 0x88);
    t[12 + c] = _mm512_shuffle_f32x4(r[8 + c], r[12 + c], 0xdd);
  }
  for (int c = 0; c < 4; ++c) {
    _mm512_store_ps(to + c * kPanelWidth, _mm512_shuffle_f32x4(t[c], t[8 + c], 0x88));
    _mm512_store_ps(to + (4 + c) * kPanelWidth, _mm512_shuffle_f32x4(t[4 + c], t[12 + c], 0x88));
    _mm512_store_ps(to + (8 + c) * kPanelWidth, _mm512_shuffle_f32x4(t[c], t[8 + c], 0xdd));
    _mm512_store_ps(to + (12 + c) * kPanelWidth, _mm512_shuffle_f32x4(t[4 + c], t[12 + c], 0xdd));
  }
}

// The next block's 32 rows: strided, so that the processor does not fetch them by itself.
void prefetch_rows(const float* x, std::int64_t stride) {
  for (std::int64_t i = 0; i < kPanelWidth; ++i) {
    __builtin_prefetch(x + i * stride, 0, 2);
    __builtin_prefetch(x + i * stride + kTile, 0, 2);
  }
}

struct alignas(64) SquareBlock {
  float values[kPanelWidth * kPanelWidth];
};

void transpose_block(const float* from, std::int64_t stride, std::int64_t rows,
                     std::int64_t columns, SquareBlock& to) {
  for (std::int64_t i = 0; i < kPanelWidth; i += kTile) {
    for (std::int64_t j = 0; j < kPanelWidth; j += kTile) {
      const bool there = i < rows && j < columns;
      transpose_tile(there ? from + i * stride + j : from, stride, there ? rows - i : 0,
                     columns - j, to.values + j * kPanelWidth + i);
    }
  }
}

// ldtilecfg's operand: eight tiles of 16 rows of 64 bytes.
struct alignas(64) TileShapes {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileShapes) == 64);
constexpr TileShapes kTileShapes;

void set_up_tiles() { _tile_loadconfig(&kTileShapes); }
void give_tiles_back() { _tile_release(); }

const std::byte* piece_of(const std::byte* block, int piece) { return block + piece * kPieceBytes; }

// Tiles 0 to 3 are the sums, row by row; 4 and 5 hold A's rows, 6 and 7 B's columns.
void load_a(const std::byte* at) {
  _tile_loadd(4, at, kLineBytes);
  _tile_loadd(5, at + kTileBytes, kLineBytes);
}

void load_b(const std::byte* at) {
  _tile_loadd(6, at, kLineBytes);
  _tile_loadd(7, at + kTileBytes, kLineBytes);
}

void multiply_tiles() {
  _tile_dpbf16ps(0, 4, 6);
  _tile_dpbf16ps(1, 4, 7);
  _tile_dpbf16ps(2, 5, 6);
  _tile_dpbf16ps(3, 5, 7);
}

// The intrinsics that load tiles do not tell the compiler that they read memory.
void finish_stores() { asm volatile("" ::: "memory"); }

void add_products(const std::byte* a, const std::byte* b, std::int64_t blocks) {
  finish_stores();
  for (std::int64_t i = 0; i < blocks; ++i) {
    const std::byte *x = a + i * kPanelBlockBytes, *y = b + i * kPanelBlockBytes;
    load_a(piece_of(x, 0));
    load_b(piece_of(y, 2));
    multiply_tiles();
    load_b(piece_of(y, 1));
    multiply_tiles();
    load_a(piece_of(x, 1));
    multiply_tiles();
    load_b(piece_of(y, 0));
    multiply_tiles();
    load_a(piece_of(x, 2));
    multiply_tiles();
    load_a(piece_of(x, 0));
    multiply_tiles();
  }
}

// The sums from where `row_bytes` apart rows start: a dense matrix, or, 0 apart, one row for all.
void load_sums(const float* from, std::int64_t row_bytes) {
  finish_stores();
  const auto* at = reinterpret_cast<const std::byte*>(from);
  _tile_loadd(0, at, row_bytes);
  _tile_loadd(1, at + kLineBytes, row_bytes);
  _tile_loadd(2, at + kTile * row_bytes, row_bytes);
  _tile_loadd(3, at + kTile * row_bytes + kLineBytes, row_bytes);
}

void zero_sums() {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
}

void store_sums(float* to, std::int64_t row_bytes) {
  auto* at = reinterpret_cast<std::byte*>(to);
  _tile_stored(0, at, row_bytes);
  _tile_stored(1, at + kLineBytes, row_bytes);
  _tile_stored(2, at + kTile * row_bytes, row_bytes);
  _tile_stored(3, at + kTile * row_bytes + kLineBytes, row_bytes);
}

// What is there of a block: its rows and the lanes of its two halves.
struct Part {
  std::int64_t rows;
  __mmask16 lanes[2];
};

void copy_block(const float* from, std::int64_t from_stride, float* to, std::int64_t to_stride,
                const Part& part) {
  for (std::int64_t i = 0; i < part.rows; ++i) {
    for (int half = 0; half < 2; ++half) {
      const __mmask16 lanes = part.lanes[half];
      _mm512_mask_storeu_ps(to + i * to_stride + half * kTile, lanes,
                            _mm512_maskz_loadu_ps(lanes, from + i * from_stride + half * kTile));
    }
  }
}

}  // namespace

void pack_a(const Lines& a, std::int64_t first, std::int64_t count, std::int64_t k,
            std::int64_t depth, std::byte* panel) noexcept {
  if (!a.k_along_stride) {
    // So much at a time stays in the first-level cache, though its lines are written in turns.
    constexpr std::int64_t kSomeBlocks = 2, kSomeTerms = kSomeBlocks * kBlockDepth;
    for (; depth > 0; depth -= kSomeTerms, k += kSomeTerms) {
      pack_a_lines(a.data + first * a.stride + k, a.stride, count, std::min(depth, kSomeTerms),
                   panel);
      panel += kSomeBlocks * kPanelBlockBytes;
    }
    return;
  }
  for (; depth > 0; depth -= kBlockDepth, k += kBlockDepth, panel += kPanelBlockBytes) {
    const float* x = a.data + k * a.stride + first;
    if (k + 2 * kBlockDepth <= a.terms) prefetch_rows(x + kBlockDepth * a.stride, a.stride);
    SquareBlock square;
    transpose_block(x, a.stride, std::min(depth, kBlockDepth), count, square);
    pack_a_lines(square.values, kPanelWidth, kPanelWidth, kBlockDepth, panel);
  }
}

void pack_b(const Lines& b, std::int64_t first, std::int64_t count, std::int64_t k,
            std::int64_t depth, std::byte* block) noexcept {
  if (b.k_along_stride) {
    const float* x = b.data + k * b.stride + first;
    if (k + 2 * kBlockDepth <= b.terms) prefetch_rows(x + kBlockDepth * b.stride, b.stride);
    pack_b_block(x, b.stride, count, depth, block);
    return;
  }
  const float* x = b.data + first * b.stride + k;
  SquareBlock square;
  transpose_block(x, b.stride, count, depth, square);
  pack_b_block(square.values, kPanelWidth, kPanelWidth, kBlockDepth, block);
}

void multiply_panels(const std::byte* a, const std::byte* b, std::int64_t blocks,
                     const PanelTarget& target) noexcept {
  constexpr std::int64_t kBlockRow = kPanelWidth * sizeof(float);
  const bool whole = target.rows == kPanelWidth && target.columns == kPanelWidth;
  const std::int64_t row_bytes = target.stride * static_cast<std::int64_t>(sizeof(float));
  if (whole) {
    if (target.add) {
      load_sums(target.c, row_bytes);
    } else if (target.bias != nullptr) {
      load_sums(target.bias, 0);
    } else {
      zero_sums();
    }
    add_products(a, b, blocks);
    store_sums(target.c, row_bytes);
    return;
  }
  const Part part{target.rows, {first_lanes(target.columns), first_lanes(target.columns - kTile)}};
  SquareBlock sums{};
  if (target.add) {
    copy_block(target.c, target.stride, sums.values, kPanelWidth, part);
  } else if (target.bias != nullptr) {
    copy_block(target.bias, 0, sums.values, kPanelWidth, part);
  }
  load_sums(sums.values, kBlockRow);
  add_products(a, b, blocks);
  store_sums(sums.values, kBlockRow);
  copy_block(sums.values, kPanelWidth, target.c, target.stride, part);
}

}  // namespace snug::cpu

HWY_POP_ATTRIBUTES

namespace snug::cpu {

TileRegisters::TileRegisters() noexcept { set_up_tiles(); }
TileRegisters::~TileRegisters() { give_tiles_back(); }

}  // namespace snug::cpu

#else  // never called: amx_usable() is false

#include <cstdlib>

namespace snug::cpu {

void pack_a(const Lines&, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
            std::byte*) noexcept {
  std::abort();
}
void pack_b(const Lines&, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
            std::byte*) noexcept {
  std::abort();
}
void multiply_panels(const std::byte*, const std::byte*, std::int64_t,
                     const PanelTarget&) noexcept {
  std::abort();
}
TileRegisters::TileRegisters() noexcept { std::abort(); }
TileRegisters::~TileRegisters() = default;

}  // namespace snug::cpu

#endif
