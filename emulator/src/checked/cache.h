// A card's second-level cache, as a model: whole sectors, the least recently used goes first, what
// was written goes to memory when it leaves. Blocks that the card holds at once take turns, request
// by request.
#pragma once

#include <cstdint>
#include <list>
#include <unordered_map>
#include <vector>

namespace emulator {

struct SectorUse {
  std::uintptr_t sector;
  bool writes;
};
// A block's requests in order, each with the sectors that it touches.
using BlockTrace = std::vector<std::vector<SectorUse>>;

class CacheModel {
 public:
  // Empty, for a launch of `blocks`.
  void start(std::size_t capacity_bytes, std::size_t blocks);
  // `blocks_at_once`: as many as the card holds. A launch of fewer gets their share of the cache:
  // a real one has others beside them.
  void add(BlockTrace block, std::size_t blocks_at_once);
  // The blocks that are left run, what was written goes to memory.
  void finish();

  std::uint64_t sectors_fetched() const { return fetched_; }
  std::uint64_t sectors_written() const { return written_; }

 private:
  struct Held {
    std::uintptr_t sector;
    bool written;
  };
  void run();
  void touch(const SectorUse& use);
  void evict();

  std::size_t capacity_bytes_ = 0, blocks_ = 0;
  std::size_t capacity_ = 0;  // sectors
  std::list<Held> held_;      // the last used first
  std::unordered_map<std::uintptr_t, std::list<Held>::iterator> where_;
  std::vector<BlockTrace> waiting_;
  std::uint64_t fetched_ = 0, written_ = 0;
};

}  // namespace emulator
