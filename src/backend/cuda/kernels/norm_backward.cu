// Layer normalisation backward: one thread block per row, each thread with its own columns, so that
// the sums for the parameters' gradients stay in registers while the block goes from row to row.
#include <algorithm>

#include "backend/cuda/kernels/column_sums.h"
#include "backend/cuda/kernels/kernels.h"
#include "backend/cuda/kernels/numbers.cuh"

namespace snug::cuda {
namespace {

constexpr int kMaxThreads = 512;

template <class T>
struct Arguments {
  std::int64_t rows, C;
  const T *dy, *x;
  const float *gamma, *mean, *rstd;
  T* dx;
  float* partial;  // (blocks, 2C): of gamma, of beta
};

// Both sums over the block, in every thread. `sums` alternates between calls, so that one barrier
// is enough.
__device__ __forceinline__ float2 block_sums(float a, float b, float2* sums) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  a = warp_sum(a);
  b = warp_sum(b);
  if (lane == 0) sums[warp] = make_float2(a, b);
  __syncthreads();
  float2 total = sums[0];
  for (int w = 1; w < static_cast<int>(blockDim.x) / kWarp; ++w) {
    total.x += sums[w].x;
    total.y += sums[w].y;
  }
  return total;
}

// dx += rstd (h - mean(h) - xhat mean(h xhat)) with h = dy gamma.
template <class T, int kWidth, int kHeld>
__global__ void __launch_bounds__(kMaxThreads) norm_backward_kernel(Arguments<T> op) {
  SNUG_SHARED(float2, sums, [2][kMaxThreads / kWarp]);
  float gamma_sum[kHeld][kWidth] = {}, beta_sum[kHeld][kWidth] = {};
  const auto column = [&](int i) {
    return static_cast<std::int64_t>(i * static_cast<int>(blockDim.x) +
                                     static_cast<int>(threadIdx.x)) *
           kWidth;
  };
  int turn = 0;
  for (std::int64_t row = blockIdx.x; row < op.rows; row += gridDim.x, turn ^= 1) {
    const float mean = op.mean[row], rstd = op.rstd[row];
    float h[kHeld][kWidth] = {}, xhat[kHeld][kWidth] = {};
    float sum_h = 0, sum_hx = 0;
#pragma unroll
    for (int i = 0; i < kHeld; ++i) {
      const std::int64_t c = column(i);
      if (c >= op.C) continue;
      float gamma[kWidth];
      load_floats(op.dy + row * op.C + c, h[i]);
      load_floats(op.x + row * op.C + c, xhat[i]);
      load_floats(op.gamma + c, gamma);
#pragma unroll
      for (int k = 0; k < kWidth; ++k) {
        xhat[i][k] = (xhat[i][k] - mean) * rstd;
        gamma_sum[i][k] += h[i][k] * xhat[i][k];
        beta_sum[i][k] += h[i][k];
        h[i][k] *= gamma[k];
        sum_h += h[i][k];
        sum_hx += h[i][k] * xhat[i][k];
      }
    }
    const float2 total = block_sums(sum_h, sum_hx, sums[turn]);
    const float width = static_cast<float>(op.C);
    const float mean_h = total.x / width, mean_hx = total.y / width;
#pragma unroll
    for (int i = 0; i < kHeld; ++i) {
      const std::int64_t c = column(i);
      if (c >= op.C) continue;
      float dx[kWidth];
      load_floats(op.dx + row * op.C + c, dx);
#pragma unroll
      for (int k = 0; k < kWidth; ++k) {
        dx[k] += rstd * (h[i][k] - mean_h - xhat[i][k] * mean_hx);
      }
      store_floats(op.dx + row * op.C + c, dx);
    }
  }
#pragma unroll
  for (int i = 0; i < kHeld; ++i) {
    const std::int64_t c = column(i);
    if (c >= op.C) continue;
    float* partial = op.partial + blockIdx.x * 2 * op.C;
    store_floats(partial + c, gamma_sum[i]);
    store_floats(partial + op.C + c, beta_sum[i]);
  }
}

template <class T, int kWidth>
void launch_backward(const LayerNormBackward& op, int blocks, cudaStream_t stream) {
  const Arguments<T> arguments{op.rows,
                               op.C,
                               static_cast<const T*>(op.dy),
                               static_cast<const T*>(op.x),
                               op.gamma,
                               op.mean,
                               op.rstd,
                               static_cast<T*>(op.dx),
                               op.scratch};
  const std::int64_t items = blocks_for(op.C, kWidth);
  const auto start = [&](auto kernel, int held) {
    const auto threads = static_cast<unsigned>(blocks_for(blocks_for(items, held), kWarp) * kWarp);
    launch(kernel, static_cast<unsigned>(blocks), threads, 0, stream, arguments);
  };
  constexpr int kMax = static_cast<int>(blocks_for(kMaxWidth, kMaxThreads * kWidth));
  if (items <= kMaxThreads) return start(norm_backward_kernel<T, kWidth, 1>, 1);
  start(norm_backward_kernel<T, kWidth, kMax>, kMax);
}

}  // namespace

void layernorm_backward(const LayerNormBackward& op, cudaStream_t stream) {
  const int blocks = static_cast<int>(std::min<std::int64_t>(kReductionBlocks, op.rows));
  with_element(op.dtype, [&](auto zero) {
    using T = decltype(zero);
    op.C % kPack<T> == 0 ? launch_backward<T, kPack<T>>(op, blocks, stream)
                         : launch_backward<T, 1>(op, blocks, stream);
  });
  add_partial_sums(op.scratch, blocks, 2 * op.C, op.C, op.dgamma, stream);
  if (op.dbeta == nullptr) return;
  add_partial_sums(op.scratch + op.C, blocks, 2 * op.C, op.C, op.dbeta, stream);
}

}  // namespace snug::cuda
