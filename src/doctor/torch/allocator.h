// CUDACachingAllocator's rules, and the allocator itself run on sizes alone: what PyTorch reports
// as allocated and reserved, fragmentation included, on a card without end or on one of a given
// size. One stream; of the settings in PYTORCH_CUDA_ALLOC_CONF those that change what fits.
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

struct TorchAllocatorSettings {
  std::int64_t limit_bytes = 0;      // what the driver can give to this process; 0: without end
  bool expandable_segments = false;  // pages are mapped where they are needed
  std::int64_t max_split_bytes = 0;  // max_split_size_mb: larger blocks stay whole; 0: off
};

class TorchAllocator {
 public:
  using BlockId = std::int32_t;
  static constexpr BlockId kNone = -1;

  explicit TorchAllocator(const TorchAllocatorSettings& settings = {}) : settings_(settings) {}

  // `bytes` > 0. kNone: out of memory, after all cached blocks that are whole were given back.
  BlockId allocate(std::int64_t bytes);
  void free(BlockId block);

  std::int64_t allocated_bytes() const noexcept { return allocated_bytes_; }
  std::int64_t reserved_bytes() const noexcept { return reserved_bytes_; }

 private:
  struct Block {
    std::int64_t address = 0;
    std::int64_t bytes = 0;
    BlockId previous = kNone;  // neighbours in the same segment
    BlockId next = kNone;
    bool small = false;
    bool free = false;
    bool mapped = true;  // false: address space of an expandable segment, without memory
  };
  struct FreeBlock {
    std::int64_t bytes, address;
    BlockId block;
    bool operator<(const FreeBlock& other) const {
      return std::tie(bytes, address, block) < std::tie(other.bytes, other.address, other.block);
    }
  };

  struct AddressOrder {
    bool operator()(const FreeBlock& a, const FreeBlock& b) const { return a.address < b.address; }
  };
  struct Pool {
    std::set<FreeBlock> cached;                  // by size
    std::set<FreeBlock, AddressOrder> unmapped;  // expandable segments only
  };

  Pool& pool(bool small) { return small ? small_pool_ : large_pool_; }
  bool limits_exceeded(std::int64_t more_bytes) const;
  BlockId new_block();
  BlockId take_cached(std::int64_t bytes, bool small);
  BlockId ask_driver(std::int64_t bytes, bool small);
  bool is_worth_splitting(const Block& block, std::int64_t bytes) const;
  void split(BlockId block, std::int64_t bytes);
  bool absorb_next(BlockId block);
  BlockId join_neighbours(BlockId block);
  void put_free(BlockId block);
  void take_free(BlockId block);
  void release(BlockId block);
  bool release_oversize(std::int64_t bytes);
  void release_cached(bool small);
  // These are for expandable segments only.
  std::int64_t expandable_bytes(BlockId block) const;
  BlockId new_address_space(std::int64_t bytes, bool small);
  BlockId find_address_space(std::int64_t bytes, bool small);
  BlockId map(BlockId block, std::int64_t bytes);
  BlockId map_segment(std::int64_t bytes, bool small);
  void unmap(BlockId block);

  TorchAllocatorSettings settings_;
  std::vector<Block> blocks_;
  std::vector<BlockId> unused_;  // entries of blocks_ to use again
  Pool small_pool_, large_pool_;
  std::int64_t next_address_ = 0;
  std::int64_t allocated_bytes_ = 0;
  std::int64_t reserved_bytes_ = 0;
};

}  // namespace snug::doctor::torch
