#include "backend/cpu/widened/tile_product.h"

#include "backend/cpu/widened/tile_division.h"
#include "base/error.h"

namespace snug::cpu {
namespace {

bool is_weight_gradient(const WidenedProductOn<Bf16>& p) { return p.accumulate; }

TileBlocks blocks_of(const WidenedProductOn<Bf16>& p) {
  return {p.k, p.sequence > 0 ? p.sequence : p.k, p.offset};
}

TileDivision division_of(const WidenedProductOn<Bf16>& p, int threads) {
  return divide_tiles(p.m, p.n, blocks_of(p).count(), is_weight_gradient(p), !is_weight_gradient(p),
                      threads);
}

// One thread's scratch: B's blocks, a panel of A, sums between chunks.
struct TileScratch {
  std::int64_t held, panel, sums;

  TileScratch(const TileDivision& d, bool keeps_sums)
      : held(d.columns_per_task * d.chunk_blocks() * kTileBlockBytes),
        panel(d.chunk_blocks() * kTileBlockBytes),
        sums(keeps_sums && d.chunks() > 1
                 ? d.rows_per_task * d.columns_per_task * kTilePanel * kTilePanel * 4
                 : 0) {}
  std::int64_t bytes() const { return held + panel + sums; }
};

}  // namespace

std::int64_t tile_scratch_bytes(const WidenedProductOn<Bf16>& product, int threads) {
  // Fewer rows or terms may be divided otherwise, but never into more than this.
  const TileBlocks blocks = blocks_of(product);
  // A part of sequences has at most one block more than its terms need.
  const std::int64_t count = blocks.count() + 1;
  const std::int64_t chunk = std::min(count, kTileChunkBlocks);
  const std::int64_t columns =
      std::min(ceil_div(product.n, kTilePanel), std::max<std::int64_t>(1, kHeldTileBlocks));
  const std::int64_t held = std::min(columns * chunk, std::max(kHeldTileBlocks, chunk));
  const bool in_scratch = !is_weight_gradient(product) && count > kTileChunkBlocks;
  const std::int64_t sums =
      in_scratch ? kSumPanels * (kHeldTileBlocks / kTileChunkBlocks) * kTilePanel * kTilePanel * 4
                 : 0;
  return threads * ((held + chunk) * kTileBlockBytes + sums);
}

}  // namespace snug::cpu

#if defined(__x86_64__)
#include <immintrin.h>
#include <omp.h>

#include "backend/cpu/split/panels.h"
#include "hwy/base.h"

// GCC 12 warns of the undefined operands of its own intrinsics.
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

// Called only where amx_usable(); the attributes keep the rest of the program free of these
// instructions.
HWY_PUSH_ATTRIBUTES("avx512f,avx512bw,avx512vl,amx-tile,amx-bf16")

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

// The intrinsics that load tiles do not tell the compiler that they read memory.
void finish_stores() { asm volatile("" ::: "memory"); }

struct alignas(64) SumBlock {
  float values[kTilePanel * kTilePanel];
};

// Tiles 0 to 3 are the sums, row by row; 4 and 5 hold A's rows, 6 and 7 B's columns.
void load_sums(const float* from, std::int64_t row_bytes) {
  finish_stores();
  const auto* at = reinterpret_cast<const std::byte*>(from);
  _tile_loadd(0, at, row_bytes);
  _tile_loadd(1, at + kTileLine, row_bytes);
  _tile_loadd(2, at + kTileRows * row_bytes, row_bytes);
  _tile_loadd(3, at + kTileRows * row_bytes + kTileLine, row_bytes);
}

void store_sums(float* to, std::int64_t row_bytes) {
  auto* at = reinterpret_cast<std::byte*>(to);
  _tile_stored(0, at, row_bytes);
  _tile_stored(1, at + kTileLine, row_bytes);
  _tile_stored(2, at + kTileRows * row_bytes, row_bytes);
  _tile_stored(3, at + kTileRows * row_bytes + kTileLine, row_bytes);
  finish_stores();
}

// A's panel as it lies in memory or packed: bytes between lines and between blocks.
struct TilePanelA {
  const std::byte* data;
  std::int64_t line_bytes, block_bytes;
};

void add_tile_products(const TilePanelA& a, const std::byte* b, std::int64_t blocks) {
  finish_stores();
  const std::byte* x = a.data;
  const std::int64_t line = a.line_bytes, lower = kTileRows * line;
  for (std::int64_t i = 0; i < blocks; ++i, x += a.block_bytes, b += kTileBlockBytes) {
    _tile_loadd(6, b, kTileLine);
    _tile_loadd(4, x, line);
    _tile_dpbf16ps(0, 4, 6);
    _tile_loadd(7, b + kTileSize, kTileLine);
    _tile_dpbf16ps(1, 4, 7);
    _tile_loadd(5, x + lower, line);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
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

class TileWorker {
 public:
  TileWorker(const WidenedProductOn<Bf16>& p, const TileDivision& d, std::byte* scratch)
      : p_(p), d_(d), blocks_(blocks_of(p)), held_(scratch) {
    const TileScratch sizes(d, !is_weight_gradient(p));
    panel_ = held_ + sizes.held;
    sums_ = reinterpret_cast<float*>(panel_ + sizes.panel);
  }

  void run(const Range& rows, const Range& columns) {
    rows_ = rows, columns_ = columns;
    for (std::int64_t chunk = 0; chunk < d_.chunks(); ++chunk) {
      first_ = chunk * kTileChunkBlocks;
      count_ = std::min(kTileChunkBlocks, d_.blocks - first_);
      for (std::int64_t c = columns.first; c < columns.end; ++c) pack_column(c);
      for (std::int64_t r = rows.first; r < rows.end; ++r) multiply_row(r);
    }
  }

 private:
  std::int64_t rows_of(std::int64_t panel) const {
    return std::min(kTilePanel, p_.m - panel * kTilePanel);
  }
  std::int64_t columns_of(std::int64_t panel) const {
    return std::min(kTilePanel, p_.n - panel * kTilePanel);
  }
  std::byte* held(std::int64_t column) const {
    return held_ + (column - columns_.first) * count_ * kTileBlockBytes;
  }

  void pack_column(std::int64_t column) {
    for (std::int64_t i = 0; i < count_; ++i) {
      const TileBlocks::Block block = blocks_.at(first_ + i);
      pack_b({p_.b, column * kTilePanel, columns_of(column), block.first, block.depth},
             held(column) + i * kTileBlockBytes);
    }
  }

  // As it lies in memory, if all of it exists there; else packed.
  TilePanelA panel_of(std::int64_t row) {
    const std::int64_t lines = rows_of(row);
    if (!p_.a.k_along_stride && lines == kTilePanel && p_.k % kTileDepth == 0 && p_.sequence == 0) {
      const Bf16* x = p_.a.data + row * kTilePanel * p_.a.stride + first_ * kTileDepth;
      return {reinterpret_cast<const std::byte*>(x), p_.a.stride * 2, kTileDepth * 2};
    }
    for (std::int64_t i = 0; i < count_; ++i) {
      const TileBlocks::Block block = blocks_.at(first_ + i);
      pack_a({p_.a, row * kTilePanel, lines, block.first, block.depth},
             panel_ + i * kTileBlockBytes);
    }
    return {panel_, kTileLine, kTileBlockBytes};
  }

  void multiply_row(std::int64_t row) {
    const TilePanelA a = panel_of(row);
    for (std::int64_t c = columns_.first; c < columns_.end; ++c) multiply_block(a, row, c);
  }

  bool is_first() const { return first_ == 0; }
  bool is_last() const { return first_ + count_ == d_.blocks; }

  void multiply_block(const TilePanelA& a, std::int64_t row, std::int64_t column) {
    const std::int64_t lines = rows_of(row), width = columns_of(column);
    const bool whole = lines == kTilePanel && width == kTilePanel;
    constexpr std::int64_t kBlockRow = kTilePanel * sizeof(float);
    SumBlock block;
    float* c = p_.c == nullptr ? nullptr : p_.c + row * kTilePanel * p_.n + column * kTilePanel;
    float* kept = p_.c == nullptr && d_.chunks() > 1 ? sums_of(row, column) : nullptr;
    if (c != nullptr && whole && (p_.accumulate || !is_first())) {
      load_sums(c, p_.n * 4);
    } else if (kept != nullptr && !is_first()) {
      load_sums(kept, kBlockRow);
    } else {
      begin(c, column, lines, width, block);
      load_sums(block.values, kBlockRow);
    }
    add_tile_products(a, held(column), count_);
    if (c != nullptr && whole) return store_sums(c, p_.n * 4);
    if (kept != nullptr && !is_last()) return store_sums(kept, kBlockRow);
    store_sums(block.values, kBlockRow);
    for (std::int64_t i = 0; i < lines; ++i) {
      const float* from = block.values + i * kTilePanel;
      if (c != nullptr) {
        std::copy_n(from, width, c + i * p_.n);
      } else {
        store_rounded(from, width, p_.y + (row * kTilePanel + i) * p_.n + column * kTilePanel);
      }
    }
  }

  // What the sums start from, where that cannot be loaded as it lies.
  void begin(const float* c, std::int64_t column, std::int64_t lines, std::int64_t width,
             SumBlock& block) const {
    std::fill_n(block.values, kTilePanel * kTilePanel, 0.0f);
    for (std::int64_t i = 0; i < lines; ++i) {
      float* to = block.values + i * kTilePanel;
      if (c != nullptr && (p_.accumulate || !is_first())) {
        std::copy_n(c + i * p_.n, width, to);
      } else if (p_.bias != nullptr) {
        std::copy_n(p_.bias + column * kTilePanel, width, to);
      }
    }
  }

  float* sums_of(std::int64_t row, std::int64_t column) const {
    const std::int64_t at = (row - rows_.first) * columns_.count() + column - columns_.first;
    return sums_ + at * kTilePanel * kTilePanel;
  }

  const WidenedProductOn<Bf16>& p_;
  const TileDivision& d_;
  const TileBlocks blocks_;
  std::byte *held_, *panel_ = nullptr;
  float* sums_ = nullptr;
  Range rows_{}, columns_{};
  std::int64_t first_ = 0, count_ = 0;  // blocks of the chunk under way
};

}  // namespace

void run_tile_tasks(const WidenedProductOn<Bf16>& p, const TileDivision& d, TaskShares& shares,
                    int thread, std::byte* scratch) {
  TileWorker worker(p, d, scratch);
  shares.work(thread, [&](std::int64_t task) { worker.run(d.rows(task), d.columns(task)); });
}

}  // namespace snug::cpu

HWY_POP_ATTRIBUTES

namespace snug::cpu {

void run_tile_product(const WidenedProductOn<Bf16>& p, const Scratch& scratch) {
  const int threads = team_size();
  const TileDivision d = division_of(p, threads);
  if (p.offset % kTileDepth != 0 ||
      scratch.part_bytes(threads) < TileScratch(d, !is_weight_gradient(p)).bytes()) {
    throw InternalError("a tile product without its scratch, or from the midst of a block");
  }
  TaskShares shares(d.task_count(), threads, threads);
#pragma omp parallel num_threads(threads)
  {
    const TileRegisters tiles;
    const int thread = omp_get_thread_num();
    run_tile_tasks(p, d, shares, thread, scratch.part(thread, threads));
  }
}

}  // namespace snug::cpu

#else  // never called: amx_usable() is false

void snug::cpu::run_tile_product(const WidenedProductOn<Bf16>&, const Scratch&) {
  throw InternalError("no AMX on this processor");
}

#endif
