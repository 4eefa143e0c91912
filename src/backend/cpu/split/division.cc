#include "backend/cpu/split/division.h"

#include "backend/cpu/kernels/chunks.h"

namespace snug::cpu {

Blocks::Blocks(const SplitProduct& p)
    : k_(p.k),
      sequence_(p.sequence > 0 ? p.sequence : p.k),
      offset_(p.offset),
      per_sequence_(ceil_div(sequence_, kBlockDepth)) {
  const std::int64_t end = k_ + offset_;
  count_ = end / sequence_ * per_sequence_ + ceil_div(end % sequence_, kBlockDepth) -
           offset_ / kBlockDepth;
}

Blocks::Block Blocks::at(std::int64_t index) const {
  const std::int64_t i = index + offset_ / kBlockDepth;
  const std::int64_t position = i % per_sequence_ * kBlockDepth;
  const std::int64_t k = i / per_sequence_ * sequence_ + position - offset_;
  return {k, std::min({kBlockDepth, sequence_ - position, k_ - k})};
}

std::int64_t Division::max_columns() const { return ceil_div(column_panels, column_parts); }

bool Division::small() const {
  return blocks <= kSectionBlocks && max_columns() <= kSectionPanels &&
         blocks * max_columns() <= kSmallBlocks;
}

std::int64_t Division::handover_panels() const {
  return ceil_div(held_panels(), ceil_div(16 * threads, passing_panels()));
}

std::int64_t Division::relay_blocks() const { return ceil_div(blocks, threads); }

std::int64_t Division::max_relay_blocks() const {
  const bool enough = threads > 1 && passing_panels() >= 2 * threads;
  if (!enough || held_panels() > kSectionPanels) return 0;
  return std::min(kSectionBlocks, kSmallBlocks / held_panels());
}

std::int64_t Division::passing_blocks() const {
  return relay ? relay_blocks() : std::min(blocks, chunk_blocks());
}

std::int64_t Division::packed_blocks() const {
  const std::int64_t held =
      relay ? held_panels() * relay_blocks()
            : std::min(max_columns(), kSectionPanels) * std::min(blocks, kSectionBlocks);
  return 2 * passing_blocks() + held;
}

Division divide(const SplitProduct& p, int threads) {
  Division d;
  d.threads = threads;
  d.row_panels = ceil_div(p.m, kPanelWidth);
  d.column_panels = ceil_div(p.n, kPanelWidth);
  d.blocks = Blocks(p).count();
  std::int64_t lowest_cost = 0;
  // Divided by rows, as in other kernels, unless columns are better.
  for (int parts = threads; parts >= 1; --parts) {
    if (threads % parts != 0) continue;
    const std::int64_t rows = ceil_div(d.row_panels, parts);
    const std::int64_t columns = ceil_div(d.column_panels, threads / parts);
    // In units of about 100 ns: packing a block of A, one of B, and multiplying the two.
    const std::int64_t cost = 2 * rows + 3 * columns + 2 * rows * columns;
    if (parts < threads && cost >= lowest_cost) continue;
    lowest_cost = cost;
    d.row_parts = parts, d.column_parts = threads / parts;
  }
  d.relay = p.accumulate && d.blocks >= kRelayBlocks * threads &&
            d.relay_blocks() <= d.max_relay_blocks();
  return d;
}

std::int64_t blocks_to_book(const SplitProduct& p, int threads) {
  const Division d = divide(p, threads);
  // Terms that are cut elsewhere may have a sequence's short last block in addition.
  const std::int64_t blocks = d.blocks + (p.sequence % kBlockDepth == 0 ? 0 : 1);
  const std::int64_t relay_blocks = ceil_div(blocks, threads);
  // With fewer terms the choice for or against a relay may be the other one.
  const bool always_relay = d.relay && relay_blocks <= d.max_relay_blocks();
  const std::int64_t max_blocks = always_relay ? kRelayBlocks * threads : blocks;
  const std::int64_t section =
      std::min(d.max_columns(), kSectionPanels) * std::min(max_blocks, kSectionBlocks);
  const std::int64_t in_relay =
      (d.held_panels() + 2) * std::min(relay_blocks, d.max_relay_blocks());
  return std::max(section + 2 * std::min(max_blocks, kSmallChunkBlocks),
                  p.accumulate ? in_relay : 0);
}

}  // namespace snug::cpu
