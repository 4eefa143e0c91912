// Packing of floats into blocks of panels, at once or in between tile products. Included by
// panels.cc inside its target attributes, because both must be inlined into the same loop.
#pragma once

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

// to = from^T, (16, 16) with rows 32 apart; `rows` x `columns` of `from` exist, the rest is zero.
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

// Prefetches the next block's 32 rows: they are strided, so the processor does not do it by itself.
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

// A row of A becomes one line of its tiles; rows j and j + 16 of B become one line of each of its
// two.
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

// True if the rows in memory are not the rows of the packed block.
bool is_across(const PanelBlock& b) { return (b.operand == Operand::kA) == b.lines.k_along_stride; }

constexpr std::int64_t kTilesAcross = 4;  // of a block

// Transposes one of the block's four tiles into its place in a block of 32 x 32 floats.
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

// The queue's work, which the multiplying loop does in between. Lines -4 to -1 of a block are its
// tiles to transpose, lines 0 to 31 its lines to pack.
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

  // Packs up to `lines` lines of the current block.
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

}  // namespace snug::cpu
