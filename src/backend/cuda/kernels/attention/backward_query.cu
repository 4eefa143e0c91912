// The gradient of the queries: a block has 64 of them and walks over the keys before them.
#include "backend/cuda/kernels/attention/backward.cuh"
#include "backend/cuda/kernels/attention/launchers.h"

namespace snug::cuda {
namespace {

// A thread's two queries.
struct QueryRows {
  float lse_log2[2], delta[2];
};

template <class T>
__device__ __forceinline__ QueryRows query_rows(const AttentionProblem<T>& op, unsigned b,
                                                unsigned h, int query) {
  QueryRows rows;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int i = query + half * 8;
    const std::int64_t at = op.head_start(b, h) + i;
    rows.lse_log2[half] = i < op.T_ ? op.lse[at] * kLog2E : 0;
    rows.delta[half] = i < op.T_ ? op.delta[at] : 0;
  }
  return rows;
}

// dp becomes the gradient of the scores; `query` and `key` are of the thread's first element.
template <int kKeys>
__device__ __forceinline__ void to_score_gradients(const float (&scores)[kKeys / 8][4],
                                                   float (&dp)[kKeys / 8][4], const QueryRows& rows,
                                                   const HeadDropout& dropout, float scale_log2,
                                                   int query, int key, int T) {
#pragma unroll
  for (int n = 0; n < kKeys / 8; ++n) {
    float factor[4] = {1, 1, 1, 1};
    if (dropout.is_on()) query_row_factors(dropout, query, key + n * 8, factor);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int i = query + k / 2 * 8, j = key + n * 8 + k % 2;
      dp[n][k] = score_gradient(scores[n][k], dp[n][k], scale_log2, rows.lse_log2[k / 2],
                                rows.delta[k / 2], factor[k], j <= i && i < T)
                     .gradient;
    }
  }
}

template <class T, int kD, bool kHalves>
__device__ __forceinline__ void query_backward_block(const AttentionProblem<T>& op) {
  constexpr int kKeys = kWalkedKeys<kD>;
  SNUG_DYN_SHARED(T, memory);
  const Tile<T, kD> q{memory}, dout{q.data + kOwned * kD}, k{dout.data + kOwned * kD},
      v{k.data + kKeys * kD};
  const int warp_row = static_cast<int>(threadIdx.x) / kWarp * kFragmentRows;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int tile = static_cast<int>(gridDim.x - 1 - blockIdx.x);
  const unsigned h = blockIdx.y, b = blockIdx.z;
  const int first = tile * kOwned;
  const int query = first + warp_row + lane / 4;
  const HeadRows<const T> keys = op.projected(b, h, 1), values = op.projected(b, h, 2);
  const HeadDropout dropout = head_dropout(op.dropout, b, h, op.T_);
  const QueryRows rows = query_rows(op, b, h, query);
  load_tile<kOwned>(q, op.projected(b, h, 0), first);
  load_tile<kOwned>(dout, op.of_output(op.dout, b, h), first);

  float sums[kD / 8][4] = {};
  const int steps = (tile + 1) * kOwned / kKeys;
  for (int step = 0; step < steps; ++step) {
    const int first_key = step * kKeys;
    load_tile<kKeys>(k, keys, first_key);
    load_tile<kKeys>(v, values, first_key);
    copy_async_commit();
    copy_async_wait<0>();
    __syncthreads();
    float scores[kKeys / 8][4], dp[kKeys / 8][4];
    multiply_transposed<T, kHalves, kD, kKeys>(scores, q, warp_row, k);
    multiply_transposed<T, kHalves, kD, kKeys>(dp, dout, warp_row, v);
    to_score_gradients<kKeys>(scores, dp, rows, dropout, op.scale * kLog2E, query,
                              first_key + lane % 4 * 2, op.T_);
    multiply_into<T, kHalves, kD, kKeys>(sums, dp, k);
    __syncthreads();  // nobody reads k and v any more
  }
  put_rows(q, warp_row, sums, op.scale, op.scale);
  store_rows(q, op.projected_gradient(b, h, 0), first, warp_row);
}

template <class T, int kD, bool kHalves>
__global__ void __launch_bounds__(kTileThreads, 1) query_backward_kernel(AttentionProblem<T> op) {
  if constexpr (is_for_this_card<kHalves>()) {
    query_backward_block<T, kD, kHalves>(op);
  } else {
    refuse_this_card();
  }
}

}  // namespace

template <class T, int kD, bool kHalves>
void start_query_backward(const AttentionProblem<T>& problem, std::int64_t B, cudaStream_t stream) {
  constexpr std::size_t kShared = 2 * (kOwned + kWalkedKeys<kD>)*kD * sizeof(T);
  const dim3 grid(static_cast<unsigned>(blocks_for(problem.T_, kOwned)),
                  static_cast<unsigned>(problem.H), static_cast<unsigned>(B));
  launch(query_backward_kernel<T, kD, kHalves>, grid, kTileThreads, kShared, stream, problem);
}

SNUG_FOR_EACH_ATTENTION(start_query_backward)

}  // namespace snug::cuda
