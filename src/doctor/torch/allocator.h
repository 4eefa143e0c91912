// CUDACachingAllocator's rules, and the allocator itself run on sizes alone: what PyTorch reports
// as allocated and reserved, fragmentation included. Default settings, one stream, a card that is
// large enough; expandable_segments is not modelled (it leaves almost nothing reserved and unused).
#pragma once

#include <cstdint>
#include <set>
#include <tuple>
#include <vector>

namespace snug::doctor::torch {

// What a request occupies: at least 512 B, a multiple of 512 B.
std::int64_t allocator_rounding(std::int64_t bytes);

// What is asked of cudaMalloc when no cached block fits a request: 2 MiB for up to 1 MiB, 20 MiB
// for less than 10 MiB, else the request rounded up to 2 MiB. This, not the request, is the "Tried
// to allocate" of an out-of-memory message.
std::int64_t allocator_segment_bytes(std::int64_t bytes);

class TorchAllocator {
 public:
  using BlockId = std::int32_t;

  // `bytes` > 0.
  BlockId allocate(std::int64_t bytes);
  void free(BlockId block);

  std::int64_t allocated_bytes() const noexcept { return allocated_bytes_; }
  std::int64_t reserved_bytes() const noexcept { return reserved_bytes_; }

 private:
  static constexpr BlockId kNone = -1;

  struct Block {
    std::int64_t address = 0;
    std::int64_t bytes = 0;
    BlockId previous = kNone;  // neighbours in the same segment
    BlockId next = kNone;
    bool small = false;
    bool free = false;
  };
  struct FreeBlock {
    std::int64_t bytes, address;
    BlockId block;
    bool operator<(const FreeBlock& other) const {
      return std::tie(bytes, address, block) < std::tie(other.bytes, other.address, other.block);
    }
  };

  std::set<FreeBlock>& pool(bool small) { return small ? small_pool_ : large_pool_; }
  BlockId new_block();
  BlockId new_segment(std::int64_t bytes, bool small);
  void split(BlockId block, std::int64_t bytes);
  bool absorb_next(BlockId block);
  void put_free(BlockId block);
  void take_free(BlockId block);

  std::vector<Block> blocks_;
  std::vector<BlockId> unused_;  // entries of blocks_ to use again
  std::set<FreeBlock> small_pool_, large_pool_;
  std::int64_t allocated_bytes_ = 0;
  std::int64_t reserved_bytes_ = 0;
};

}  // namespace snug::doctor::torch
