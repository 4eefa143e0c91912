// What kernels did, counted by the checked build: exact and repeatable, never a time. A request is
// one access instruction of a warp, as the C++ compiler made it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace emulator {

inline constexpr std::size_t kSectorBytes = 32;

struct Counts {
  std::uint64_t launches = 0, blocks = 0;
  // Global memory: bytes that lanes asked for, distinct bytes per launch (the least possible), and
  // 32-byte sectors that the requests touch.
  std::uint64_t bytes_read = 0, bytes_written = 0, distinct_read = 0, distinct_written = 0;
  std::uint64_t requests = 0, sectors = 0, request_bytes = 0;
  // The same for a block as a whole: what it brings in once, and of that what it asks for. A lane
  // that reads 32 bytes by two requests uses half a sector with each, and the sector wholly.
  std::uint64_t block_sectors = 0, block_bytes = 0;
  // Shared memory: passes over the banks against the least for the widths asked for.
  std::uint64_t shared_passes = 0, min_shared_passes = 0;
  std::uint64_t multiply_adds = 0, block_barriers = 0;
  // Between the card's memory and a model of its second-level cache, which is empty when a launch
  // begins: the card's size, the least recently used goes first, blocks that the card holds at once
  // take turns. A launch of fewer blocks than that gets their share of the cache.
  std::uint64_t memory_read = 0, memory_written = 0;
  // Of one block, and how many of them a multiprocessor holds by its threads and shared memory
  // (registers are the compiler's for the card, and not known here).
  std::uint64_t threads_per_block = 0, shared_per_block = 0, blocks_at_once = 0;

  double traffic_ratio() const;   // bytes asked for / distinct bytes
  double memory_ratio() const;    // bytes to and from memory / distinct bytes
  double requests_used() const;   // of the bytes in sectors that requests touch, those asked for
  double sectors_used() const;    // the same of blocks
  double bank_conflicts() const;  // passes too many per least pass
};

// Starts anew; counting costs time and is off otherwise.
void start_counting();
// By kernel, since start_counting(), which it ends.
std::map<std::string, Counts> take_counts();

}  // namespace emulator
