// How a split product is divided: its contraction into blocks, its panels between threads, and how
// much each of them packs. Plain numbers, the same on every processor.
#pragma once

#include <algorithm>
#include <cstdint>

#include "backend/cpu/split/split_product.h"

namespace snug::cpu {

// Sizes that change speed but no bits: an element's sum runs through the blocks in order, whatever
// they are grouped into. A section is what is held packed of B; a chunk, what is multiplied with it
// of A at a time. What a group of rows has of C stays in cache from chunk to chunk.
constexpr std::int64_t kChunkBlocks = 8, kSmallChunkBlocks = 16;
constexpr std::int64_t kSectionBlocks = 24, kSectionPanels = 16;
constexpr std::int64_t kGroupPanels = 8;
// Of what is held packed and is to stay in a second-level cache: 1.1 MiB.
constexpr std::int64_t kSmallBlocks = 192;
// Of each thread, for which a relay is worth its start.
constexpr std::int64_t kRelayBlocks = 4;
static_assert(std::max(kSectionBlocks, kSmallChunkBlocks) <= PackingQueue::kMostBlocks);

// The contraction in blocks of up to 32 terms, none of them across the end of a sequence.
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

// Every thread packs what it needs of A and B by itself: to take what another core has packed would
// cost more than to pack it again. It has a rectangle of C, or, in a relay, a part of the
// contraction: the first thread adds its terms to the first row (or column) of panels and passes it
// on to the second. A weight's gradient goes that way, since each thread has its sequences in its
// cache. In a relay the operand with fewer panels is held packed while the other passes by; else B
// is. Of what passes by, the next panel is packed while AMX multiplies the one before.
struct Division {
  int threads = 1;
  std::int64_t row_panels = 0, column_panels = 0, blocks = 0;
  int row_parts = 1, column_parts = 1;  // more than there are panels: some threads have none
  bool relay = false;

  std::int64_t most_columns() const;
  // B stays packed from the first row to the last, and rows may go to any thread that has it.
  bool small() const;
  std::int64_t chunk_blocks() const { return small() || relay ? kSmallChunkBlocks : kChunkBlocks; }

  bool holds_a() const { return relay && row_panels < column_panels; }
  std::int64_t held_panels() const { return std::min(row_panels, column_panels); }
  std::int64_t passing_panels() const { return std::max(row_panels, column_panels); }
  // Held panels that are passed on at once: few enough for the last thread to start soon.
  std::int64_t leg_panels() const;
  std::int64_t relay_blocks() const;
  // That a relay may have of each thread, 0 where C is too small for one.
  std::int64_t most_relay_blocks() const;

  // Blocks in one of the two panels that take turns: one is multiplied, the other packed.
  std::int64_t passing_blocks() const;
  // All that a thread packs at a time.
  std::int64_t packed_blocks() const;
};
Division divide(const SplitProduct& product, int threads);

// Enough for packed_blocks() of this product, and of every one with fewer terms, cut from the same
// sequences anywhere, or, where it does not accumulate, fewer rows.
std::int64_t blocks_to_book(const SplitProduct& product, int threads);

}  // namespace snug::cpu
