// Causal attention forward on tensor cores: a block has 64 queries of one head and walks over the
// keys before them, with the running maximum and sum of every row in registers (FlashAttention-2).
#include "backend/cuda/kernels/attention/launchers.h"
#include "backend/cuda/kernels/attention/problem.cuh"

namespace snug::cuda {
namespace {

constexpr int kQueries = 64, kKeys = 64;

// A thread's two rows of a warp's 16: lane / 4 and eight below it.
struct RowSoftmax {
  float max[2] = {-INFINITY, -INFINITY};
  float sum[2] = {0, 0};
};

// Scores to probabilities relative to the new maximum; `sums` and `rows` are scaled to it.
template <int kD>
__device__ __forceinline__ void softmax_step(float (&scores)[kKeys / 8][4], float scale_log2,
                                             RowSoftmax& rows, float (&sums)[kD / 8][4]) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float max = rows.max[half];
#pragma unroll
    for (int n = 0; n < kKeys / 8; ++n) {
      max = fmaxf(max, fmaxf(scores[n][2 * half], scores[n][2 * half + 1]));
    }
    max = fmaxf(max, __shfl_xor_sync(kAllLanes, max, 1));
    max = fmaxf(max, __shfl_xor_sync(kAllLanes, max, 2));
    const float shift = max == -INFINITY ? 0.0f : max * scale_log2;
    const float correction = exp2f(rows.max[half] * scale_log2 - shift);
    rows.max[half] = max;
    float sum = 0;
#pragma unroll
    for (int n = 0; n < kKeys / 8; ++n) {
#pragma unroll
      for (int k = 2 * half; k < 2 * half + 2; ++k) {
        scores[n][k] = exp2f(scores[n][k] * scale_log2 - shift);
        sum += scores[n][k];
      }
    }
    rows.sum[half] = rows.sum[half] * correction + sum;
#pragma unroll
    for (int n = 0; n < kD / 8; ++n) {
      sums[n][2 * half] *= correction;
      sums[n][2 * half + 1] *= correction;
    }
  }
}

// Keys after the query, on the diagonal tile.
__device__ __forceinline__ void mask_future(float (&scores)[kKeys / 8][4], int row) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
#pragma unroll
  for (int n = 0; n < kKeys / 8; ++n) {
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int query = row + lane / 4 + k / 2 * 8, key = n * 8 + lane % 4 * 2 + k % 2;
      if (key > query) scores[n][k] = -INFINITY;
    }
  }
}

__device__ __forceinline__ void drop(const HeadDropout& dropout, int query, int key,
                                     float (&p)[kKeys / 8][4]) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
#pragma unroll
  for (int n = 0; n < kKeys / 8; ++n) {
    float factor[4];
    query_row_factors(dropout, query + lane / 4, key + n * 8 + lane % 4 * 2, factor);
#pragma unroll
    for (int k = 0; k < 4; ++k) p[n][k] *= factor[k];
  }
}

template <class T, int kD, bool kHalves>
__device__ __forceinline__ void forward_block(const AttentionProblem<T>& op) {
  SNUG_DYN_SHARED(T, memory);
  const Tile<T, kD> q{memory}, k{memory + kQueries * kD}, v{memory + (kQueries + kKeys) * kD};
  const int warp_row = static_cast<int>(threadIdx.x) / kWarp * kFragmentRows;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  // The longest rows first, so that the last blocks to start are short ones.
  const int tile = static_cast<int>(gridDim.x - 1 - blockIdx.x);
  const unsigned h = blockIdx.y, b = blockIdx.z;
  const int first = tile * kQueries;
  const HeadRows<const T> keys = op.projected(b, h, 1), values = op.projected(b, h, 2);
  const HeadDropout dropout = head_dropout(op.dropout, b, h, op.T_);
  load_tile<kQueries>(q, op.projected(b, h, 0), first);
  load_tile<kKeys>(k, keys, 0);
  copy_async_commit();

  float sums[kD / 8][4] = {};
  RowSoftmax rows;
  for (int step = 0; step <= tile; ++step) {
    copy_async_wait<0>();
    __syncthreads();  // k is here, and nobody reads v any more
    load_tile<kKeys>(v, values, step * kKeys);
    copy_async_commit();
    float scores[kKeys / 8][4];
    multiply_transposed<T, kHalves, kD, kKeys>(scores, q, warp_row, k);
    if (step == tile) mask_future(scores, warp_row);
    softmax_step<kD>(scores, op.scale * kLog2E, rows, sums);
    if (dropout.is_on()) {
      drop(dropout, first + warp_row, step * kKeys, scores);
    }
    copy_async_wait<0>();
    __syncthreads();  // v is here, and nobody reads k any more
    if (step < tile) load_tile<kKeys>(k, keys, (step + 1) * kKeys);
    copy_async_commit();
    multiply_into<T, kHalves, kD, kKeys>(sums, scores, v);
  }

#pragma unroll
  for (int half = 0; half < 2; ++half) {
    rows.sum[half] += __shfl_xor_sync(kAllLanes, rows.sum[half], 1);
    rows.sum[half] += __shfl_xor_sync(kAllLanes, rows.sum[half], 2);
    const int query = first + warp_row + lane / 4 + half * 8;
    if (op.lse_written != nullptr && lane % 4 == 0 && query < op.T_) {
      op.lse_written[op.head_start(b, h) + query] =
          rows.max[half] * op.scale + logf(rows.sum[half]);
    }
  }
  put_rows(q, warp_row, sums, 1.0f / rows.sum[0], 1.0f / rows.sum[1]);
  store_rows(q, op.of_output(op.out_written, b, h), first, warp_row);
}

template <class T, int kD, bool kHalves>
__global__ void __launch_bounds__(kTileThreads, 1) forward_kernel(AttentionProblem<T> op) {
  if constexpr (is_for_this_card<kHalves>()) {
    forward_block<T, kD, kHalves>(op);
  } else {
    refuse_this_card();
  }
}

}  // namespace

template <class T, int kD, bool kHalves>
void start_forward(const AttentionProblem<T>& problem, std::int64_t B, cudaStream_t stream) {
  constexpr std::size_t kShared = (kQueries + 2 * kKeys) * kD * sizeof(T);
  const dim3 grid(static_cast<unsigned>(blocks_for(problem.T_, kQueries)),
                  static_cast<unsigned>(problem.H), static_cast<unsigned>(B));
  launch(forward_kernel<T, kD, kHalves>, grid, kTileThreads, kShared, stream, problem);
}

SNUG_FOR_EACH_ATTENTION(start_forward)

}  // namespace snug::cuda
