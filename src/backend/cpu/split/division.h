// How a split product is divided: its contraction into blocks, its panels between threads, and how
// much each thread packs. Plain numbers, the same on every processor.
//
// A *relay* is the way of a weight's gradient: each thread adds the terms of its own sequences to
// C, panel after panel, and hands each panel on to the next thread, which adds its terms to it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "backend/cpu/split/split_product.h"

namespace snug::cpu {

// Sizes that change speed but no bits: an element's sum runs through the blocks in order, whatever
// they are grouped into. A section is the part of B that is held packed; a chunk is the part of A
// that is multiplied with it at a time. The rows of C that a group writes stay in cache from chunk
// to chunk.
constexpr std::int64_t kChunkBlocks = 8, kSmallChunkBlocks = 16;
constexpr std::int64_t kSectionBlocks = 24, kSectionPanels = 16;
constexpr std::int64_t kGroupPanels = 8;
// Maximum of packed blocks that stay in a second-level cache: 1.1 MiB.
constexpr std::int64_t kSmallBlocks = 192;
// Minimum of blocks per thread for which a relay is faster in spite of its late start.
constexpr std::int64_t kRelayBlocks = 4;
static_assert(std::max(kSectionBlocks, kSmallChunkBlocks) <= PackingQueue::kMaxBlocks);

// The contraction in blocks of up to 32 terms. No block crosses the end of a sequence.
class Blocks {
 public:
  explicit Blocks(const SplitProduct& product);

  std::int64_t count() const { return count_; }

  struct Block {
    std::int64_t k, depth;
  };
  Block at(std::int64_t index) const;

 private:
  std::int64_t k_, sequence_, offset_, per_sequence_, count_;
};

// Every thread packs what it needs of A and B by itself: to fetch what another core has packed
// costs more than to pack it again. A thread computes a rectangle of C or, in a relay, a part of
// the contraction: the first thread adds its terms to the first row (or column) of panels and hands
// it over to the second. A weight's gradient is computed that way, because each thread has its
// sequences in its cache. One operand is held packed, the other passes by panel by panel: in a
// relay the one with fewer panels is held, otherwise B. The next passing panel is packed while AMX
// multiplies the one before.
struct Division {
  int threads = 1;
  std::int64_t row_panels = 0, column_panels = 0, blocks = 0;
  int row_parts = 1, column_parts = 1;  // if more than there are panels, some threads have none
  bool relay = false;

  std::int64_t max_columns() const;
  // B stays packed from the first row to the last, and any thread that has it may take any row.
  bool small() const;
  std::int64_t chunk_blocks() const { return small() || relay ? kSmallChunkBlocks : kChunkBlocks; }

  bool holds_a() const { return relay && row_panels < column_panels; }
  std::int64_t held_panels() const { return std::min(row_panels, column_panels); }
  std::int64_t passing_panels() const { return std::max(row_panels, column_panels); }
  // Held panels per handover: few enough for the last thread to start soon.
  std::int64_t handover_panels() const;
  std::int64_t relay_blocks() const;
  // Maximum of relay_blocks() for which there is a relay; 0 where C is too small for one.
  std::int64_t max_relay_blocks() const;

  // Blocks in one of the two panels that take turns: one is multiplied, the other packed.
  std::int64_t passing_blocks() const;
  // Blocks that a thread holds packed at a time: the two passing panels and what is held.
  std::int64_t packed_blocks() const;
};
Division divide(const SplitProduct& product, int threads);

// Enough for packed_blocks() of this product, of every product with fewer terms, wherever they are
// cut from the same sequences, and, if it does not accumulate, of every product with fewer rows.
std::int64_t blocks_to_book(const SplitProduct& product, int threads);

}  // namespace snug::cpu
