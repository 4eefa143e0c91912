// Sums over rows: the gradient of a bias, and the second half of a norm's.
#include "backend/cuda/kernels/column_sums.h"

#include <algorithm>

#include "backend/cuda/kernels/kernels.h"
#include "backend/cuda/kernels/numbers.cuh"

namespace snug::cuda {
namespace {

constexpr int kGroups = 8;  // of a block's threads, each with its share of the rows

// A warp's lanes are neighbouring columns; the block's warps take every eighth row.
__global__ void __launch_bounds__(kGroups* kWarp)
    partial_sums_kernel(const float* partial, int count, std::int64_t stride, std::int64_t width,
                        float* out) {
  SNUG_SHARED(float, sums, [kGroups][kWarp]);
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int group = static_cast<int>(threadIdx.x) / kWarp;
  const std::int64_t c = static_cast<std::int64_t>(blockIdx.x) * kWarp + lane;
  float sum = 0;
  if (c < width) {
    for (int i = group; i < count; i += kGroups) sum += partial[i * stride + c];
  }
  sums[group][lane] = sum;
  __syncthreads();
  if (group != 0 || c >= width) return;
  for (int g = 1; g < kGroups; ++g) sum += sums[g][lane];
  out[c] += sum;
}

// Each block sums the rows from blockIdx.y on, gridDim.y apart in groups of kGroups.
template <class T, int kWidth>
__global__ void __launch_bounds__(kGroups* kWarp)
    bias_backward_kernel(std::int64_t rows, std::int64_t N, const T* dy, float* partial) {
  SNUG_SHARED(float, sums, [kGroups][kWarp * kWidth]);
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int group = static_cast<int>(threadIdx.x) / kWarp;
  const std::int64_t c = (static_cast<std::int64_t>(blockIdx.x) * kWarp + lane) * kWidth;
  float sum[kWidth] = {};
  if (c < N) {
    const std::int64_t step = static_cast<std::int64_t>(gridDim.y) * kGroups;
    for (std::int64_t row = blockIdx.y * kGroups + group; row < rows; row += step) {
      float value[kWidth];
      load_floats(dy + row * N + c, value);
#pragma unroll
      for (int k = 0; k < kWidth; ++k) sum[k] += value[k];
    }
  }
#pragma unroll
  for (int k = 0; k < kWidth; ++k) sums[group][k * kWarp + lane] = sum[k];
  __syncthreads();
  if (group != 0 || c >= N) return;
#pragma unroll
  for (int k = 0; k < kWidth; ++k) {
    for (int g = 1; g < kGroups; ++g) sum[k] += sums[g][k * kWarp + lane];
  }
  store_floats(partial + blockIdx.y * N + c, sum);
}

}  // namespace

void add_partial_sums(const float* partial, int count, std::int64_t stride, std::int64_t width,
                      float* out, cudaStream_t stream) {
  launch(partial_sums_kernel, static_cast<unsigned>(blocks_for(width, kWarp)), kGroups * kWarp, 0,
         stream, partial, count, stride, width, out);
}

void bias_backward(const BiasBackward& op, cudaStream_t stream) {
  const auto blocks =
      static_cast<int>(std::min<std::int64_t>(kReductionBlocks, blocks_for(op.rows, 4 * kGroups)));
  with_element(op.dtype, [&](auto zero) {
    using T = decltype(zero);
    const bool aligned = op.N % kPack<T> == 0;
    const dim3 grid(static_cast<unsigned>(blocks_for(op.N, kWarp * (aligned ? kPack<T> : 1))),
                    static_cast<unsigned>(blocks));
    launch(aligned ? bias_backward_kernel<T, kPack<T>> : bias_backward_kernel<T, 1>, grid,
           kGroups * kWarp, 0, stream, op.rows, op.N, static_cast<const T*>(op.dy), op.scratch);
  });
  add_partial_sums(op.scratch, blocks, op.N, op.N, op.dbias, stream);
}

}  // namespace snug::cuda
