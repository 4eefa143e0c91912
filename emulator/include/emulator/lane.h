// The running device thread, as the shim's built-ins see it: who it is, its barriers, its warp, its
// shared memory, its asynchronous copies. Null outside a kernel.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda_shim/vector_types.h"
#include "emulator/site.h"

namespace emulator {

inline constexpr unsigned kWarpLanes = 32;

// Read by threadIdx and friends; what else a lane holds is the scheduler's.
struct LaneIdentity {
  uint3 thread, block;
  dim3 block_shape, grid_shape;
  unsigned index = 0;  // in the block
};

extern constinit thread_local const LaneIdentity* t_lane;

// All threads of the block that have not returned meet.
void block_barrier(const Site& site);
// The same; `reduce` sees each lane's value, and all get the sum (of non-zero values as 1).
int block_count(int predicate, const Site& site);

// The lanes of `mask` meet. Each brings the address of its own argument; the last to come runs
// `together` over all of them (null where a lane is not in the mask), then all go on.
using Together = void (*)(void* const (&arguments)[kWarpLanes], std::uint32_t mask);
void warp_meet(std::uint32_t mask, void* argument, Together together, const char* what,
               const Site& site);
// A meeting that also orders the memory accesses of its lanes.
void warp_barrier(std::uint32_t mask, const Site& site);
// Lanes of this warp that have not returned.
std::uint32_t active_lanes();

// The block's shared memory: one object per declaration, found by the address that marks it.
void* shared_object(const void* declaration, std::size_t bytes, std::size_t alignment);
void* dynamic_shared();

// cp.async: `bytes` of `target` are poisoned now and arrive at the wait for their group;
// source_bytes are copied, the rest is zero.
void copy_async(void* target, const void* source, std::size_t bytes, std::size_t source_bytes,
                const Site& site);
void copy_async_commit();
void copy_async_wait(unsigned groups_left, const Site& site);

// What tensor-core instructions are counted by.
void count_mma(std::uint64_t multiply_adds);

}  // namespace emulator
