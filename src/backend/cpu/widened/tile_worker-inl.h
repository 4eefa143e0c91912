// One thread's part of a tile product, whatever the unit that multiplies. Included as
// tile_packing-inl.h is. A Unit has one function, which adds the products of `blocks` blocks of two
// panels to 32 x 32 sums:
//   static void add(const Sums<const float>& from, const TilePanelA& a, const std::byte* b,
//                   std::int64_t blocks, const Sums<float>& to);
#pragma once

#include "backend/cpu/widened/tile_packing-inl.h"
#include "backend/cpu/widened/tile_tasks.h"

namespace snug::cpu {
namespace {

struct alignas(64) SumBlock {
  float values[kTilePanel * kTilePanel];
};

// A's panel as it lies in memory or packed: bytes between lines and between blocks.
struct TilePanelA {
  const std::byte* data;
  std::int64_t line_bytes, block_bytes;
};

// 32 x 32 sums at any address.
template <class Float>
struct Sums {
  Float* data;
  std::int64_t stride;  // floats between rows
};

template <class Unit>
class TileWorker {
 public:
  TileWorker(const WidenedProductOn<Bf16>& p, const TileDivision& d, std::byte* scratch)
      : p_(p), d_(d), blocks_(blocks_of(p)), held_(scratch) {
    const TileScratch sizes(d, keeps_sums(p));
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
    SumBlock block;
    const Sums<float> here{block.values, kTilePanel};
    float* c = p_.c == nullptr ? nullptr : p_.c + row * kTilePanel * p_.n + column * kTilePanel;
    const bool in_place = c != nullptr && whole;
    const Sums<float> result{c, p_.n};
    const Sums<float> kept{p_.c == nullptr && d_.chunks() > 1 ? sums_of(row, column) : nullptr,
                           kTilePanel};
    Sums<float> from = here, to = here;
    if (in_place && (p_.accumulate || !is_first())) {
      from = result;
    } else if (kept.data != nullptr && !is_first()) {
      from = kept;
    } else {
      begin(c, column, lines, width, block);
    }
    if (in_place) {
      to = result;
    } else if (kept.data != nullptr && !is_last()) {
      to = kept;
    }
    Unit::add({from.data, from.stride}, a, held(column), count_, to);
    if (to.data == block.values) end(c, row, column, lines, width, block);
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

  // Sums to where they stay, or rounded.
  void end(float* c, std::int64_t row, std::int64_t column, std::int64_t lines, std::int64_t width,
           const SumBlock& block) const {
    for (std::int64_t i = 0; i < lines; ++i) {
      const float* from = block.values + i * kTilePanel;
      if (c != nullptr) {
        std::copy_n(from, width, c + i * p_.n);
      } else {
        store_rounded(from, width, p_.y + (row * kTilePanel + i) * p_.n + column * kTilePanel);
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

template <class Unit>
void work_on_tiles(const TileTasks& tasks, int thread) {
  TileWorker<Unit> worker(tasks.product, tasks.division, tasks.scratch_of(thread));
  tasks.shares.work(thread, [&](std::int64_t task) {
    worker.run(tasks.division.rows(task), tasks.division.columns(task));
  });
}

}  // namespace
}  // namespace snug::cpu
