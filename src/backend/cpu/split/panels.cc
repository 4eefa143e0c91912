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

HWY_INLINE __m512 load_row(const PackingSource& s, std::int64_t row, int half) {
  const bool there = row < s.rows;
  return _mm512_maskz_loadu_ps(there ? s.lanes[half] : 0,
                               s.x + (there ? row * s.stride + half * kTile : 0));
}

// A row of A makes a line of its tiles. In B, rows j and j + 16 make one of each of its two tiles.
template <Operand kOperand, bool kWhole>
HWY_INLINE void pack_line(const PackingSource& s, std::int64_t line, std::byte* block) {
  const bool is_a = kOperand == Operand::kA;
  const int half = static_cast<int>(line / kTile);
  const std::int64_t first = is_a ? line : line % kTile, second = is_a ? line : first + kTile;
  const int first_half = is_a ? 0 : half, second_half = is_a ? 1 : half;
  std::byte* to = block + line * kLineBytes;
  if constexpr (kWhole) {
    store_pairs(_mm512_loadu_ps(s.x + first * s.stride + first_half * kTile),
                _mm512_loadu_ps(s.x + second * s.stride + second_half * kTile), to);
  } else {
    store_pairs(load_row(s, first, first_half), load_row(s, second, second_half), to);
  }
}

template <Operand kOperand>
HWY_INLINE void pack_lines(const PackingSource& s, std::int64_t first, std::int64_t end,
                           std::byte* block) {
  if (s.is_whole) {
    for (std::int64_t i = first; i < end; ++i) pack_line<kOperand, true>(s, i, block);
  } else {
    for (std::int64_t i = first; i < end; ++i) pack_line<kOperand, false>(s, i, block);
  }
}

HWY_INLINE void pack_lines_of(const PanelBlock& b, const PackingSource& s, std::int64_t first,
                              std::int64_t end) {
  b.operand == Operand::kA ? pack_lines<Operand::kA>(s, first, end, b.to)
                           : pack_lines<Operand::kB>(s, first, end, b.to);
}

const float* start_of(const PanelBlock& b) {
  return b.lines.data +
         (b.lines.k_along_stride ? b.k * b.lines.stride + b.first : b.first * b.lines.stride + b.k);
}

// Rows of memory are not the rows wanted.
bool is_across(const PanelBlock& b) { return (b.operand == Operand::kA) == b.lines.k_along_stride; }

constexpr std::int64_t kTilesAcross = 4;  // of a block

// One of the block's four tiles, into its place in a block of 32 x 32 floats.
HWY_INLINE void transpose_tile_of(const PanelBlock& b, std::int64_t tile, float* to) {
  const std::int64_t rows = b.lines.k_along_stride ? b.depth : b.count;
  const std::int64_t columns = b.lines.k_along_stride ? b.count : b.depth;
  const std::int64_t i = tile / 2 * kTile, j = tile % 2 * kTile;
  const bool there = i < rows && j < columns;
  transpose_tile(start_of(b) + (there ? i * b.lines.stride + j : 0), b.lines.stride,
                 there ? rows - i : 0, columns - j, to + j * kPanelWidth + i);
}

PackingSource source_of(const PanelBlock& b, const float* transposed) {
  if (is_across(b)) return {transposed, kPanelWidth, kPanelWidth, {0xffff, 0xffff}, true};
  const std::int64_t rows = b.operand == Operand::kA ? b.count : b.depth;
  const std::int64_t columns = b.operand == Operand::kA ? b.depth : b.count;
  return {start_of(b),
          b.lines.stride,
          rows,
          {first_lanes(columns), first_lanes(columns - kTile)},
          rows == kPanelWidth && columns == kPanelWidth};
}

void prefetch_block_after(const PanelBlock& b) {
  if (!b.lines.k_along_stride || b.k + 2 * kBlockDepth > b.lines.terms) return;
  prefetch_rows(start_of(b) + kBlockDepth * b.lines.stride, b.lines.stride);
}

struct alignas(64) SquareBlock {
  float values[kPanelWidth * kPanelWidth];
};

}  // namespace

// The queue's work, for the loop below that does it in between. Lines -4 to -1 of a block are its
// tiles to be transposed, lines 0 to 31 those to be packed.
struct PackingSteps {
  static bool empty(const PackingQueue& q) { return q.block_ == q.count_; }

  static void start(PackingQueue& q) {
    if (empty(q)) {
      q.block_ = q.count_ = 0;
      return;
    }
    const PanelBlock& block = q.blocks_[q.block_];
    q.source_ = source_of(block, q.transposed_.data());
    q.line_ = is_across(block) ? -kTilesAcross : 0;
    prefetch_block_after(block);
  }

  // Up to so many lines of the block under way.
  static HWY_INLINE void step(PackingQueue& q, std::int64_t lines) {
    const PanelBlock& block = q.blocks_[q.block_];
    if (q.line_ < 0) {
      transpose_tile_of(block, q.line_ + kTilesAcross, q.transposed_.data());
      ++q.line_;
      return;
    }
    const std::int64_t end = std::min(q.line_ + lines, kPanelWidth);
    pack_lines_of(block, q.source_, q.line_, end);
    q.line_ = end;
    if (end < kPanelWidth) return;
    ++q.block_;
    start(q);
  }

  static HWY_INLINE void fill_gap(PackingQueue& q) {
    if (!empty(q)) step(q, q.lines_per_gap_);
  }
};

namespace {

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

constexpr std::int64_t kGaps = 6;  // of two blocks' products

void add_products(const std::byte* a, const std::byte* b, std::int64_t blocks,
                  PackingQueue& queue) {
  finish_stores();
  for (std::int64_t i = 0; i < blocks; ++i) {
    const std::byte *x = a + i * kPanelBlockBytes, *y = b + i * kPanelBlockBytes;
    load_a(piece_of(x, 0));
    load_b(piece_of(y, 2));
    multiply_tiles();
    PackingSteps::fill_gap(queue);
    load_b(piece_of(y, 1));
    multiply_tiles();
    PackingSteps::fill_gap(queue);
    load_a(piece_of(x, 1));
    multiply_tiles();
    PackingSteps::fill_gap(queue);
    load_b(piece_of(y, 0));
    multiply_tiles();
    PackingSteps::fill_gap(queue);
    load_a(piece_of(x, 2));
    multiply_tiles();
    PackingSteps::fill_gap(queue);
    load_a(piece_of(x, 0));
    multiply_tiles();
    PackingSteps::fill_gap(queue);
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

void pack(const PanelBlock& block) noexcept {
  prefetch_block_after(block);
  SquareBlock transposed;
  if (is_across(block)) {
    for (std::int64_t i = 0; i < kTilesAcross; ++i) transpose_tile_of(block, i, transposed.values);
  }
  pack_lines_of(block, source_of(block, transposed.values), 0, kPanelWidth);
}

void PackingQueue::spread_over(std::int64_t multiplications) noexcept {
  const auto lines = static_cast<std::int64_t>(count_) * (kPanelWidth + kTilesAcross);
  const std::int64_t gaps = kGaps * multiplications;
  lines_per_gap_ = (lines + gaps - 1) / gaps;
  PackingSteps::start(*this);
}

void PackingQueue::finish() noexcept {
  while (!PackingSteps::empty(*this)) PackingSteps::step(*this, kPanelWidth);
}

void multiply_panels(const std::byte* a, const std::byte* b, std::int64_t blocks,
                     const PanelTarget& target, PackingQueue& queue) noexcept {
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
    add_products(a, b, blocks, queue);
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
  add_products(a, b, blocks, queue);
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

void pack(const PanelBlock&) noexcept { std::abort(); }
void PackingQueue::spread_over(std::int64_t) noexcept { std::abort(); }
void PackingQueue::finish() noexcept { std::abort(); }
void multiply_panels(const std::byte*, const std::byte*, std::int64_t, const PanelTarget&,
                     PackingQueue&) noexcept {
  std::abort();
}
TileRegisters::TileRegisters() noexcept { std::abort(); }
TileRegisters::~TileRegisters() = default;

}  // namespace snug::cpu

#endif
