// Deletes a barrier from running kernels by its place in the source, so that a test can show that
// the checks notice. Barriers are __syncthreads, __syncwarp and the wait for
// asynchronous copies.
#pragma once

#include <string>
#include <vector>

namespace emulator {

struct BarrierSite {
  std::string file;
  unsigned line = 0, column = 0;
  std::string function;
  bool operator==(const BarrierSite&) const = default;
  auto operator<=>(const BarrierSite&) const = default;
};

// Starts to write down the barriers that kernels reach; take_barriers() ends it.
void record_barriers();
std::vector<BarrierSite> take_barriers();

// The barrier does nothing until restore_barriers().
void delete_barrier(const BarrierSite& site);
void restore_barriers();

}  // namespace emulator
