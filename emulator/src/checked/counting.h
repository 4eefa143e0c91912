// Counts requests as a warp makes them: the n-th time that its lanes pass an instruction is one.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "block.h"
#include "checked/cache.h"
#include "emulator/counters.h"

namespace emulator {

class RequestCounter {
 public:
  bool on = false;

  void access(const Lane& lane, std::uintptr_t address, std::size_t bytes, bool is_shared,
              bool writes, std::uint32_t place);
  // Adds the block's requests to `counts`, and gives those of global memory in order.
  BlockTrace block_ends(Counts& counts);

 private:
  struct Request {
    bool is_shared = false, writes = false;
    std::uint8_t bytes[kWarpLanes] = {};
    std::uintptr_t addresses[kWarpLanes] = {};
  };
  struct Key {
    std::uint32_t warp, place, turn;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const {
      return (key.place * 0x9E3779B97F4A7C15ULL) ^ (static_cast<std::size_t>(key.turn) << 20) ^
             (static_cast<std::size_t>(key.warp) << 52);
    }
  };
  std::vector<SectorUse> count_global(const Request& request, Counts& counts);
  static void count_shared(const Request& request, Counts& counts);

  std::unordered_map<std::uint64_t, std::uint32_t> turns_;             // by lane and place
  std::unordered_map<Key, std::size_t, KeyHash> index_;                // of a request
  std::unordered_map<std::uintptr_t, std::uint32_t> bytes_of_sector_;  // that the block asks for
  std::vector<Request> requests_;                                      // as their first lanes came
};

}  // namespace emulator
