// cp.async: copies from global to shared memory that a thread starts, groups and waits for. After a
// wait only the waiting thread sees its copies; the others see them after a barrier. sm_75 has no
// such instruction: there a copy is done at once.
#pragma once

#include <cuda_runtime.h>

#ifndef __CUDACC__
#include "emulator/lane.h"
#endif

namespace snug::cuda {

#ifdef __CUDACC__

__device__ inline unsigned shared_address(const void* shared) {
  return static_cast<unsigned>(__cvta_generic_to_shared(shared));
}

// source_bytes of 16 are copied, the rest of the 16 is zero.
__device__ inline void copy_async_16(void* shared, const void* global, unsigned source_bytes = 16) {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(shared)),
               "l"(__cvta_generic_to_global(global)), "r"(source_bytes)
               : "memory");
#else
  uint4 value = make_uint4(0, 0, 0, 0);
  if (source_bytes == 16) {
    value = *static_cast<const uint4*>(global);
  } else {
    memcpy(&value, global, source_bytes);
  }
  *static_cast<uint4*>(shared) = value;
#endif
}

__device__ inline void copy_async_4(void* shared, const void* global, unsigned source_bytes = 4) {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared_address(shared)),
               "l"(__cvta_generic_to_global(global)), "r"(source_bytes)
               : "memory");
#else
  unsigned value = 0;
  memcpy(&value, global, source_bytes);
  *static_cast<unsigned*>(shared) = value;
#endif
}

__device__ inline void copy_async_commit() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// Waits for this thread's groups but the last kGroupsLeft.
template <int kGroupsLeft>
__device__ inline void copy_async_wait() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(kGroupsLeft) : "memory");
#endif
}

#else

inline void copy_async_16(void* shared, const void* global, unsigned source_bytes = 16,
                          const emulator::Site& site = emulator::Site::current()) {
  emulator::copy_async(shared, global, 16, source_bytes, site);
}

inline void copy_async_4(void* shared, const void* global, unsigned source_bytes = 4,
                         const emulator::Site& site = emulator::Site::current()) {
  emulator::copy_async(shared, global, 4, source_bytes, site);
}

inline void copy_async_commit() { emulator::copy_async_commit(); }

template <int kGroupsLeft>
void copy_async_wait(const emulator::Site& site = emulator::Site::current()) {
  emulator::copy_async_wait(kGroupsLeft, site);
}

#endif

}  // namespace snug::cuda
