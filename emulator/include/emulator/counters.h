// What kernels did, counted by the checked build: exact and repeatable, never a time. A request is
// one access instruction of a warp, as the C++ compiler made it.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace emulator {

struct Counts {
  std::uint64_t launches = 0, blocks = 0;
  // Global memory: bytes that lanes asked for, distinct bytes per launch (the least possible), and
  // 32-byte sectors that the requests touch.
  std::uint64_t bytes_read = 0, bytes_written = 0, distinct_read = 0, distinct_written = 0;
  std::uint64_t requests = 0, sectors = 0, request_bytes = 0;
  // Shared memory: passes over the banks against the least for the widths asked for.
  std::uint64_t shared_passes = 0, shared_passes_least = 0;
  std::uint64_t multiply_adds = 0, block_barriers = 0;

  double traffic_ratio() const;   // bytes moved / distinct bytes
  double sectors_used() const;    // of the bytes in touched sectors, those asked for
  double bank_conflicts() const;  // passes too many per least pass
};

// Starts anew; counting costs time and is off otherwise.
void start_counting();
// By kernel, since start_counting(), which it ends.
std::map<std::string, Counts> take_counts();

}  // namespace emulator
