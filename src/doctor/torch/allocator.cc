#include "doctor/torch/allocator.h"

#include <algorithm>

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

bool worth_splitting(std::int64_t remaining_bytes, bool small) {
  return small ? remaining_bytes >= kMinBlockBytes : remaining_bytes > kSmallBytes;
}

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

// Segments are never given back here, so the bytes reserved so far serve as the address.
TorchAllocator::BlockId TorchAllocator::new_segment(std::int64_t bytes, bool small) {
  const BlockId block = new_block();
  blocks_[block].address = reserved_bytes_;
  blocks_[block].bytes = allocator_segment_bytes(bytes);
  blocks_[block].small = small;
  reserved_bytes_ = checked_add(reserved_bytes_, blocks_[block].bytes);
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
  high.previous = block;
  high.next = low.next;
  if (low.next != kNone) blocks_[low.next].previous = rest;
  low.next = rest;
  low.bytes = bytes;
  put_free(rest);
}

void TorchAllocator::put_free(BlockId block) {
  blocks_[block].free = true;
  pool(blocks_[block].small).insert({blocks_[block].bytes, blocks_[block].address, block});
}

TorchAllocator::BlockId TorchAllocator::allocate(std::int64_t bytes) {
  const std::int64_t rounded = allocator_rounding(bytes);
  const bool small = rounded <= kSmallBytes;
  std::set<FreeBlock>& candidates = pool(small);
  const auto best = candidates.lower_bound({rounded, 0, kNone});
  BlockId block = kNone;
  if (best == candidates.end()) {
    block = new_segment(rounded, small);
  } else {
    block = best->block;
    take_free(block);
  }
  if (worth_splitting(blocks_[block].bytes - rounded, small)) split(block, rounded);
  allocated_bytes_ = checked_add(allocated_bytes_, blocks_[block].bytes);
  return block;
}

void TorchAllocator::take_free(BlockId block) {
  blocks_[block].free = false;
  pool(blocks_[block].small).erase({blocks_[block].bytes, blocks_[block].address, block});
}

// Joins the block after `block` to it if that one is free.
bool TorchAllocator::absorb_next(BlockId block) {
  const BlockId next = blocks_[block].next;
  if (next == kNone || !blocks_[next].free) return false;
  take_free(next);
  blocks_[block].bytes += blocks_[next].bytes;
  blocks_[block].next = blocks_[next].next;
  if (blocks_[next].next != kNone) blocks_[blocks_[next].next].previous = block;
  unused_.push_back(next);
  return true;
}

void TorchAllocator::free(BlockId block) {
  allocated_bytes_ -= blocks_[block].bytes;
  put_free(block);
  const BlockId previous = blocks_[block].previous;
  const BlockId first = previous != kNone && blocks_[previous].free ? previous : block;
  take_free(first);
  while (absorb_next(first)) {
  }
  put_free(first);
}

}  // namespace snug::doctor::torch
