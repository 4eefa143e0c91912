// Kernels with one mistake each, and their right twins, compiled as checked kernels are.
#pragma once

#include <cuda_runtime.h>

namespace emulator::kernels {

// 256 threads, a block's sum by a tree in shared memory; the barrier of the loop can be deleted.
void tree_sum(const float* in, float* out);
// One warp reverses 32 values through shared memory; its __syncwarp can be deleted.
void reverse_warp(const float* in, float* out);
// Copies 16 values per thread asynchronously; the wait and the barrier can be deleted.
void staged_copy(const float* in, float* out);

void read_behind(const float* in, float* out, int count);
void write_behind(float* out, int count);
void shared_behind(float* out);
void read_unwritten_shared(float* out);
void add_without_atomic(int* sum);
void add_with_atomic(int* sum);
void misaligned_wide(const float* in, float* out);
// Reads column threadIdx.x of a matrix of 32 rows, stride `stride`: strided or not, banks or not.
void columns_of_shared(float* out, int stride);
void strided_copy(const float* in, float* out, int stride);

}  // namespace emulator::kernels
