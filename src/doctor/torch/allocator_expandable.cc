// expandable_segments:True. A segment is address space for more than the card has; pages of it are
// mapped where a request needs them and given back, page by page, when memory runs out.
#include <algorithm>

#include "base/bytes.h"
#include "base/integers.h"
#include "doctor/torch/allocator.h"

namespace snug::doctor::torch {
namespace {

constexpr std::int64_t kSmallPageBytes = 2 * kMiB, kLargePageBytes = 20 * kMiB;
constexpr std::int64_t kEndlessSpaceBytes = std::int64_t{1} << 50;

std::int64_t page_bytes(bool small) { return small ? kSmallPageBytes : kLargePageBytes; }

}  // namespace

std::int64_t TorchAllocator::expandable_bytes(BlockId block) const {
  const BlockId next = blocks_[block].next;
  const bool grows = next != kNone && !blocks_[next].mapped;
  return blocks_[block].bytes + (grows ? blocks_[next].bytes : 0);
}

// 9/8 of the card, so that pages from the front can be put to the end.
TorchAllocator::BlockId TorchAllocator::new_address_space(std::int64_t bytes, bool small) {
  const std::int64_t limit = settings_.limit_bytes;
  const std::int64_t space = limit > 0 ? std::max(limit + limit / 8, bytes) : kEndlessSpaceBytes;
  const BlockId block = new_block();
  blocks_[block].address = next_address_;
  blocks_[block].bytes = round_up(space, kLargePageBytes);
  blocks_[block].small = small;
  blocks_[block].mapped = false;
  next_address_ = checked_add(next_address_, blocks_[block].bytes);
  put_free(block);
  return block;
}

// The first block, free or unmapped, from which on `bytes` of address space are free.
TorchAllocator::BlockId TorchAllocator::find_address_space(std::int64_t bytes, bool small) {
  const auto is_free = [this](BlockId block) { return block != kNone && blocks_[block].free; };
  for (const FreeBlock& unmapped : pool(small).unmapped) {
    BlockId first = unmapped.block;
    if (is_free(blocks_[first].previous)) first = blocks_[first].previous;
    std::int64_t room = 0;
    for (BlockId b = first; room < bytes && is_free(b); b = blocks_[b].next) {
      room += blocks_[b].bytes;
    }
    if (room >= bytes) return first;
  }
  return new_address_space(bytes, small);
}

// Maps the first `bytes` of an unmapped block, in whole pages. Returns the free block that they are
// then part of; kNone: the driver has no more.
TorchAllocator::BlockId TorchAllocator::map(BlockId block, std::int64_t bytes) {
  const std::int64_t mapped = round_up(bytes, page_bytes(blocks_[block].small));
  if (limits_exceeded(mapped)) return kNone;
  take_free(block);
  if (mapped < blocks_[block].bytes) split(block, mapped);
  blocks_[block].mapped = true;
  reserved_bytes_ = checked_add(reserved_bytes_, mapped);
  return join_neighbours(block);
}

TorchAllocator::BlockId TorchAllocator::map_segment(std::int64_t bytes, bool small) {
  BlockId block = find_address_space(bytes, small);
  if (!blocks_[block].mapped) block = map(block, std::min(blocks_[block].bytes, bytes));
  while (block != kNone && blocks_[block].bytes < bytes) {
    const BlockId next = blocks_[block].next;
    block = map(next, std::min(bytes - blocks_[block].bytes, blocks_[next].bytes));
  }
  if (block != kNone) take_free(block);
  return block;
}

void TorchAllocator::unmap(BlockId block) {
  const std::int64_t page = page_bytes(blocks_[block].small);
  const std::int64_t start = blocks_[block].address;
  const std::int64_t first = round_up(start, page);
  const std::int64_t last = (start + blocks_[block].bytes) / page * page;
  if (last <= first) return;
  take_free(block);
  if (first > start) {
    split(block, first - start);
    put_free(block);
    block = blocks_[block].next;
    take_free(block);
  }
  if (last < blocks_[block].address + blocks_[block].bytes) split(block, last - first);
  reserved_bytes_ -= blocks_[block].bytes;
  blocks_[block].mapped = false;
  join_neighbours(block);
}

}  // namespace snug::doctor::torch
