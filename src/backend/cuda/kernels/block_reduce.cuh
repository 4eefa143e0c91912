// Sums and maxima over a thread block, the same bits in every thread.
#pragma once

#include "backend/cuda/kernels/numbers.cuh"

namespace snug::cuda {

// `slots`: kThreads / 32 numbers of shared memory, free again when the block has next synchronised.
template <int kThreads, class Number, class Combine>
__device__ __forceinline__ Number block_reduce(Number warp_value, Number* slots, Combine combine) {
  if (threadIdx.x % kWarp == 0) slots[threadIdx.x / kWarp] = warp_value;
  __syncthreads();
  Number total = slots[0];
#pragma unroll
  for (int w = 1; w < kThreads / kWarp; ++w) total = combine(total, slots[w]);
  return total;
}

}  // namespace snug::cuda
