// The gradients of keys and values: a block has 64 keys and walks over the queries after them. Its
// scores are transposed, keys by queries, so that they are the left operand of the next products as
// they come out of the first.
#include "backend/cuda/kernels/attention/backward.cuh"
#include "backend/cuda/kernels/attention/launchers.h"

namespace snug::cuda {
namespace {

// Per query of the tile that is walked over.
template <int kQueries>
struct QueryColumns {
  float* lse_log2;
  float* delta;
};

// scores become the dropped probabilities, dp the scores' gradients.
template <int kQueries>
__device__ __forceinline__ void to_gradients(float (&scores)[kQueries / 8][4],
                                             float (&dp)[kQueries / 8][4],
                                             const QueryColumns<kQueries>& columns,
                                             const HeadDropout& dropout, float scale_log2,
                                             int first_query, int key, int T) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
#pragma unroll
  for (int n = 0; n < kQueries / 8; ++n) {
    const int column = n * 8 + lane % 4 * 2;
    float factor[4] = {1, 1, 1, 1};
    if (dropout.is_on()) key_row_factors(dropout, first_query + column, key, factor);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int i = first_query + column + k % 2, j = key + k / 2 * 8;
      const ScoreGradient result =
          score_gradient(scores[n][k], dp[n][k], scale_log2, columns.lse_log2[column + k % 2],
                         columns.delta[column + k % 2], factor[k], j <= i && i < T);
      scores[n][k] = result.dropped;
      dp[n][k] = result.gradient;
    }
  }
}

template <class T, int kD, bool kHalves>
__device__ __forceinline__ void key_backward_block(const AttentionProblem<T>& op) {
  constexpr int kQueries = kWalkedQueries<kD>;
  SNUG_DYN_SHARED(T, memory);
  SNUG_SHARED(float, lse_log2, [kQueries]);
  SNUG_SHARED(float, delta, [kQueries]);
  const Tile<T, kD> k{memory}, v{k.data + kOwned * kD}, q{v.data + kOwned * kD},
      dout{q.data + kQueries * kD};
  const int warp_row = static_cast<int>(threadIdx.x) / kWarp * kFragmentRows;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  // The first keys have the most queries after them.
  const int first = static_cast<int>(blockIdx.x) * kOwned;
  const unsigned h = blockIdx.y, b = blockIdx.z;
  const HeadRows<const T> queries = op.projected(b, h, 0);
  const HeadRows<const T> douts = op.of_output(op.dout, b, h);
  const HeadDropout dropout = head_dropout(op.dropout, b, h, op.T_);
  load_tile<kOwned>(k, op.projected(b, h, 1), first);
  load_tile<kOwned>(v, op.projected(b, h, 2), first);

  float dk[kD / 8][4] = {}, dv[kD / 8][4] = {};
  for (int first_query = first; first_query < op.T_; first_query += kQueries) {
    load_tile<kQueries>(q, queries, first_query);
    load_tile<kQueries>(dout, douts, first_query);
    copy_async_commit();
    for (int i = static_cast<int>(threadIdx.x); i < kQueries; i += kTileThreads) {
      const bool inside = first_query + i < op.T_;
      const std::int64_t at = op.head_start(b, h) + first_query + i;
      lse_log2[i] = inside ? op.lse[at] * kLog2E : 0;
      delta[i] = inside ? op.delta[at] : 0;
    }
    copy_async_wait<0>();
    __syncthreads();
    float scores[kQueries / 8][4], dp[kQueries / 8][4];
    multiply_transposed<T, kHalves, kD, kQueries>(scores, k, warp_row, q);
    multiply_transposed<T, kHalves, kD, kQueries>(dp, v, warp_row, dout);
    to_gradients<kQueries>(scores, dp, {lse_log2, delta}, dropout, op.scale * kLog2E, first_query,
                           first + warp_row + lane / 4, op.T_);
    multiply_into<T, kHalves, kD, kQueries>(dv, scores, dout);
    multiply_into<T, kHalves, kD, kQueries>(dk, dp, q);
    __syncthreads();  // nobody reads this tile any more
  }
  put_rows(k, warp_row, dk, op.scale, op.scale);
  put_rows(v, warp_row, dv, 1.0f, 1.0f);
  store_rows(k, op.projected_gradient(b, h, 1), first, warp_row);
  store_rows(v, op.projected_gradient(b, h, 2), first, warp_row);
}

template <class T, int kD, bool kHalves>
__global__ void __launch_bounds__(kTileThreads, 1) key_backward_kernel(AttentionProblem<T> op) {
  if constexpr (is_for_this_card<kHalves>()) {
    key_backward_block<T, kD, kHalves>(op);
  } else {
    refuse_this_card();
  }
}

}  // namespace

template <class T, int kD, bool kHalves>
void start_key_backward(const AttentionProblem<T>& problem, std::int64_t B, cudaStream_t stream) {
  constexpr std::size_t kShared = 2 * (kOwned + kWalkedQueries<kD>)*kD * sizeof(T);
  const dim3 grid(static_cast<unsigned>(blocks_for(problem.T_, kOwned)),
                  static_cast<unsigned>(problem.H), static_cast<unsigned>(B));
  launch(key_backward_kernel<T, kD, kHalves>, grid, kTileThreads, kShared, stream, problem);
}

SNUG_FOR_EACH_ATTENTION(start_key_backward)

}  // namespace snug::cuda
