#include "backend/cpu/split/panels.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include <algorithm>

#include "backend/cpu/kernels/chunks.h"
#include "hwy/base.h"

// GCC 12 warns of the undefined operands of its own intrinsics.
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

// Intrinsics, because Highway 1.0 knows neither AMX nor bfloat16 arithmetic. Called only where
// amx_usable(); the attributes keep the rest of the program free of these instructions.
HWY_PUSH_ATTRIBUTES("avx512f,avx512bw,avx512vl,amx-tile,amx-bf16")

#include "backend/cpu/split/packing-inl.h"

namespace snug::cpu {
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

// Loads the sums from rows that are `row_bytes` apart: a dense matrix, or with 0 one row for all.
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

// The part of a block that exists: its rows and the lanes of its two halves.
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
  lines_per_gap_ = ceil_div(lines, kGaps * multiplications);
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
