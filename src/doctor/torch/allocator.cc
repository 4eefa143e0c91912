#include "doctor/torch/allocator.h"

#include <algorithm>
#include <iterator>

#include "base/bytes.h"

namespace snug::doctor::torch {
namespace {

// c10/cuda/CUDACachingAllocator.cpp
constexpr std::int64_t kMinBlockBytes = 512;
constexpr std::int64_t kSmallBytes = 1 * kMiB;
constexpr std::int64_t kSmallBufferBytes = 2 * kMiB;
constexpr std::int64_t kMinLargeBytes = 10 * kMiB;
constexpr std::int64_t kLargeBufferBytes = 20 * kMiB;
constexpr std::int64_t kLargeRoundingBytes = 2 * kMiB;

}  // namespace

std::int64_t allocator_rounding(std::int64_t bytes) {
  return std::max(kMinBlockBytes, align_up(bytes, kMinBlockBytes));
}

std::int64_t allocator_segment_bytes(std::int64_t bytes) {
  const std::int64_t rounded = allocator_rounding(bytes);
  if (rounded <= kSmallBytes) return kSmallBufferBytes;
  if (rounded < kMinLargeBytes) return kLargeBufferBytes;
  return align_up(rounded, kLargeRoundingBytes);
}

TorchAllocator::BlockId TorchAllocator::new_block() {
  if (unused_.empty()) {
    blocks_.emplace_back();
    return static_cast<BlockId>(blocks_.size() - 1);
  }
  const BlockId block = unused_.back();
  unused_.pop_back();
  blocks_[block] = Block{};
  return block;
}

bool TorchAllocator::limits_exceeded(std::int64_t more_bytes) const {
  return settings_.limit_bytes > 0 && reserved_bytes_ + more_bytes > settings_.limit_bytes;
}

TorchAllocator::BlockId TorchAllocator::ask_driver(std::int64_t bytes, bool small) {
  if (settings_.expandable_segments) return map_segment(bytes, small);
  const std::int64_t segment = allocator_segment_bytes(bytes);
  if (limits_exceeded(segment)) return kNone;
  const BlockId block = new_block();
  blocks_[block].address = next_address_;
  blocks_[block].bytes = segment;
  blocks_[block].small = small;
  next_address_ = checked_add(next_address_, segment);
  reserved_bytes_ = checked_add(reserved_bytes_, segment);
  return block;
}

// The lower `bytes` stay in `block`; the rest becomes a free block after it.
void TorchAllocator::split(BlockId block, std::int64_t bytes) {
  const BlockId rest = new_block();
  Block& low = blocks_[block];
  Block& high = blocks_[rest];
  high.address = low.address + bytes;
  high.bytes = low.bytes - bytes;
  high.small = low.small;
  high.mapped = low.mapped;
  high.previous = block;
  high.next = low.next;
  if (low.next != kNone) blocks_[low.next].previous = rest;
  low.next = rest;
  low.bytes = bytes;
  put_free(rest);
}

void TorchAllocator::put_free(BlockId block) {
  Block& entry = blocks_[block];
  entry.free = true;
  Pool& of = pool(entry.small);
  if (entry.mapped) {
    of.cached.insert({entry.bytes, entry.address, block});
  } else {
    of.unmapped.insert({entry.bytes, entry.address, block});
  }
}

void TorchAllocator::take_free(BlockId block) {
  Block& entry = blocks_[block];
  entry.free = false;
  Pool& of = pool(entry.small);
  if (entry.mapped) {
    of.cached.erase({entry.bytes, entry.address, block});
  } else {
    of.unmapped.erase({entry.bytes, entry.address, block});
  }
}

// The best fit. Of an expandable segment's end, what it can grow to counts as its size.
TorchAllocator::BlockId TorchAllocator::take_cached(std::int64_t bytes, bool small) {
  const std::set<FreeBlock>& cached = pool(small).cached;
  auto best = cached.lower_bound({bytes, 0, kNone});
  if (best == cached.end()) return kNone;
  if (settings_.expandable_segments) {
    auto next = std::next(best);
    while (next != cached.end() && expandable_bytes(next->block) < expandable_bytes(best->block)) {
      best = next++;
    }
  }
  const std::int64_t max_split = settings_.max_split_bytes;
  if (max_split > 0 && bytes < max_split && best->bytes >= max_split) return kNone;
  if (max_split > 0 && bytes >= max_split && best->bytes >= bytes + kLargeBufferBytes) return kNone;
  const BlockId block = best->block;
  take_free(block);
  return block;
}

bool TorchAllocator::is_worth_splitting(const Block& block, std::int64_t bytes) const {
  const std::int64_t remaining = block.bytes - bytes;
  if (block.small || settings_.expandable_segments) return remaining >= kMinBlockBytes;
  const bool may_split = settings_.max_split_bytes == 0 || bytes < settings_.max_split_bytes;
  return may_split && remaining > kSmallBytes;
}

TorchAllocator::BlockId TorchAllocator::allocate(std::int64_t bytes) {
  const std::int64_t rounded = allocator_rounding(bytes);
  const bool small = rounded <= kSmallBytes;
  BlockId block = take_cached(rounded, small);
  if (block == kNone) block = ask_driver(rounded, small);
  if (block == kNone && release_oversize(rounded)) block = ask_driver(rounded, small);
  if (block == kNone) {
    release_cached(false);
    release_cached(true);
    block = ask_driver(rounded, small);
  }
  if (block == kNone) return kNone;
  if (is_worth_splitting(blocks_[block], rounded)) split(block, rounded);
  allocated_bytes_ = checked_add(allocated_bytes_, blocks_[block].bytes);
  return block;
}

// Joins the block after `block` to it if that one is free too.
bool TorchAllocator::absorb_next(BlockId block) {
  const BlockId next = blocks_[block].next;
  if (next == kNone || !blocks_[next].free) return false;
  if (blocks_[next].mapped != blocks_[block].mapped) return false;
  take_free(next);
  blocks_[block].bytes += blocks_[next].bytes;
  blocks_[block].next = blocks_[next].next;
  if (blocks_[next].next != kNone) blocks_[blocks_[next].next].previous = block;
  unused_.push_back(next);
  return true;
}

// `block` is in no pool; what it becomes part of is put into one and returned.
TorchAllocator::BlockId TorchAllocator::join_neighbours(BlockId block) {
  put_free(block);
  const BlockId previous = blocks_[block].previous;
  const bool joins = previous != kNone && blocks_[previous].free &&
                     blocks_[previous].mapped == blocks_[block].mapped;
  const BlockId first = joins ? previous : block;
  take_free(first);
  while (absorb_next(first)) {
  }
  put_free(first);
  return first;
}

void TorchAllocator::free(BlockId block) {
  allocated_bytes_ -= blocks_[block].bytes;
  join_neighbours(block);
}

void TorchAllocator::release(BlockId block) {
  take_free(block);
  reserved_bytes_ -= blocks_[block].bytes;
  unused_.push_back(block);
}

// With max_split_size_mb: whole blocks above it go first, one that is large enough or several.
bool TorchAllocator::release_oversize(std::int64_t bytes) {
  if (settings_.max_split_bytes == 0) return false;
  const std::int64_t wanted = std::max(bytes, settings_.max_split_bytes);
  const std::set<FreeBlock>& cached = pool(false).cached;
  if (const auto one = cached.lower_bound({wanted, 0, kNone}); one != cached.end()) {
    release(one->block);
    return true;
  }
  std::int64_t released = 0;
  while (released < wanted && !cached.empty() &&
         cached.rbegin()->bytes >= settings_.max_split_bytes) {
    released += cached.rbegin()->bytes;
    release(cached.rbegin()->block);
  }
  return released >= wanted;
}

// Blocks that are a whole segment; of expandable segments every page that is free.
void TorchAllocator::release_cached(bool small) {
  std::vector<BlockId> whole;
  for (const FreeBlock& cached : pool(small).cached) {
    const Block& block = blocks_[cached.block];
    const bool is_whole = block.previous == kNone && block.next == kNone;
    if (is_whole || settings_.expandable_segments) whole.push_back(cached.block);
  }
  for (const BlockId block : whole) {
    if (settings_.expandable_segments) {
      unmap(block);
    } else {
      release(block);
    }
  }
}

}  // namespace snug::doctor::torch
