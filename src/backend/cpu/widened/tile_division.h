// How a tile product is divided into tasks and a task into what is held packed. Plain numbers, the
// same on every processor; none of them changes a bit of the result.
#pragma once

#include <algorithm>
#include <cstdint>

#include "backend/cpu/task_shares.h"
#include "base/integers.h"

namespace snug::cpu {

constexpr std::int64_t kTilePanel = 32;  // rows of A or columns of B
constexpr std::int64_t kTileDepth = 32;  // terms of a block
constexpr std::int64_t kTileBlockBytes = kTilePanel * kTileDepth * 2;
// Blocks of a panel that are multiplied at a time; a longer contraction keeps its sums in memory.
constexpr std::int64_t kTileChunkBlocks = 128;
// Row panels of a task whose sums are kept in scratch between chunks.
constexpr std::int64_t kSumPanels = 32;

// The contraction in blocks of up to kTileDepth terms, none across the end of a sequence.
struct TileBlocks {
  std::int64_t k, sequence, offset;  // sequence: terms, at least 1

  std::int64_t per_sequence() const { return ceil_div(sequence, kTileDepth); }
  std::int64_t count() const { return index_of(offset + k - 1) - index_of(offset) + 1; }

  struct Block {
    std::int64_t first, depth;
  };
  Block at(std::int64_t i) const {
    const std::int64_t index = index_of(offset) + i;
    const std::int64_t start =
        index / per_sequence() * sequence + index % per_sequence() * kTileDepth;
    const std::int64_t end = std::min((index / per_sequence() + 1) * sequence, start + kTileDepth);
    return {start - offset, std::min(end, offset + k) - start};
  }

 private:
  std::int64_t index_of(std::int64_t term) const {
    return term / sequence * per_sequence() + term % sequence / kTileDepth;
  }
};

struct TileDivision {
  std::int64_t row_panels, column_panels, blocks;
  std::int64_t rows_per_task, columns_per_task;

  std::int64_t row_tasks() const { return ceil_div(row_panels, rows_per_task); }
  std::int64_t column_tasks() const { return ceil_div(column_panels, columns_per_task); }
  std::int64_t task_count() const { return row_tasks() * column_tasks(); }
  Range rows(std::int64_t task) const {
    return part(task / column_tasks(), rows_per_task, row_panels);
  }
  Range columns(std::int64_t task) const {
    return part(task % column_tasks(), columns_per_task, column_panels);
  }
  std::int64_t chunk_blocks() const { return std::min(blocks, kTileChunkBlocks); }
  std::int64_t chunks() const { return ceil_div(blocks, kTileChunkBlocks); }

 private:
  static Range part(std::int64_t i, std::int64_t size, std::int64_t all) {
    return {i * size, std::min(all, (i + 1) * size)};
  }
};

struct TileShape {
  std::int64_t m, n, blocks;
  // Weight gradients are divided by rows first, because A has to be transposed and B hardly costs
  // anything; other products by columns, because A is used as it lies and B is packed.
  bool by_rows;
  bool sums_in_scratch;      // the result is 16 bits wide, so that sums between chunks need a place
  std::int64_t held_blocks;  // of B, that a task holds packed
};

inline TileDivision divide_tiles(const TileShape& s, int threads) {
  constexpr std::int64_t kTasksPerThread = 4, kMinRows = 8, kMinColumns = 2;
  TileDivision d{ceil_div(s.m, kTilePanel), ceil_div(s.n, kTilePanel), s.blocks, 0, 0};
  const std::int64_t wanted = kTasksPerThread * threads;
  const std::int64_t max_columns = std::max<std::int64_t>(1, s.held_blocks / d.chunk_blocks());
  if (s.by_rows) {
    d.columns_per_task = std::min(max_columns, d.column_panels);
    const std::int64_t left = ceil_div(wanted, d.column_tasks());
    d.rows_per_task = std::max(std::min(kMinRows, d.row_panels), ceil_div(d.row_panels, left));
  } else {
    d.columns_per_task = std::clamp(ceil_div(d.column_panels, wanted), kMinColumns, max_columns);
    d.columns_per_task = std::min(d.columns_per_task, d.column_panels);
    const std::int64_t left = d.column_tasks() >= threads ? 1 : ceil_div(wanted, d.column_tasks());
    d.rows_per_task = ceil_div(d.row_panels, left);
  }
  if (s.sums_in_scratch && d.chunks() > 1) d.rows_per_task = std::min(d.rows_per_task, kSumPanels);
  return d;
}

}  // namespace snug::cpu
