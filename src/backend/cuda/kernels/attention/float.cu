// Causal attention in float32, without tensor cores. Each of a block's rows belongs to four
// neighbouring lanes; rows and columns of scores are queries and keys, or the other way round.
#include "backend/cuda/kernels/attention/launchers.h"

namespace snug::cuda {
namespace {

// As many rows as four tiles of them leave room for, and four threads per row.
template <int kD>
constexpr int kTileRows = kD > 64 ? 16 : 32;
template <int kD>
constexpr int kFloatThreads = 4 * kTileRows<kD>;

// Rows of kD floats, four apart from each other's banks.
template <int kD>
struct FloatTile {
  static constexpr int kStride = kD + 4;
  static constexpr int kFloats = kTileRows<kD> * kStride;
  float* data;

  __device__ __forceinline__ float* row(int r) const { return data + r * kStride; }
};

template <int kD>
__device__ __forceinline__ void load_rows(const FloatTile<kD>& tile,
                                          const HeadRows<const float>& rows, int first) {
  for (int item = static_cast<int>(threadIdx.x); item < kTileRows<kD> * kD;
       item += kFloatThreads<kD>) {
    const int r = item / kD, d = item % kD;
    const bool inside = first + r < rows.row_count && d < rows.D;
    tile.row(r)[d] = inside ? rows.data[(first + r) * rows.row_stride + d] : 0.0f;
  }
}

template <int kD>
__device__ __forceinline__ float dot(const float* a, const float* b) {
  float sum = 0;
#pragma unroll 8
  for (int d = 0; d < kD; d += 4) {
    float x[4], y[4];
    load_floats(a + d, x);
    load_floats(b + d, y);
#pragma unroll
    for (int k = 0; k < 4; ++k) sum = fmaf(x[k], y[k], sum);
  }
  return sum;
}

// A thread's share of one row of kD: four floats out of every sixteen.
template <int kD>
struct RowSums {
  float at[kD / 16][4] = {};

  __device__ __forceinline__ void add(float factor, const float* row) {
    const int quarter = static_cast<int>(threadIdx.x) % 4;
#pragma unroll
    for (int n = 0; n < kD / 16; ++n) {
      float x[4];
      load_floats(row + n * 16 + quarter * 4, x);
#pragma unroll
      for (int k = 0; k < 4; ++k) at[n][k] = fmaf(factor, x[k], at[n][k]);
    }
  }
  __device__ __forceinline__ void scale(float factor) {
#pragma unroll
    for (auto& four : at) {
#pragma unroll
      for (float& x : four) x *= factor;
    }
  }
  __device__ __forceinline__ void store(const HeadRows<float>& rows, int row) const {
    if (row >= rows.row_count) return;
    const int quarter = static_cast<int>(threadIdx.x) % 4;
#pragma unroll
    for (int n = 0; n < kD / 16; ++n) {
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int d = n * 16 + quarter * 4 + k;
        if (d < rows.D) rows.data[row * rows.row_stride + d] = at[n][k];
      }
    }
  }
};

__device__ __forceinline__ float four_lanes_sum(float x) {
  x += __shfl_xor_sync(kAllLanes, x, 1);
  return x + __shfl_xor_sync(kAllLanes, x, 2);
}
__device__ __forceinline__ float four_lanes_max(float x) {
  x = fmaxf(x, __shfl_xor_sync(kAllLanes, x, 1));
  return fmaxf(x, __shfl_xor_sync(kAllLanes, x, 2));
}

__device__ __forceinline__ float factor_of(const HeadDropout& dropout, int i, int j) {
  if (!dropout.is_on()) return 1.0f;
  return dropout.factor(word_of(dropout.words(i, j), static_cast<int>(j % 4)));
}

template <int kD>
__global__ void __launch_bounds__(kFloatThreads<kD>) forward_kernel(AttentionProblem<float> op) {
  constexpr int kRows = kTileRows<kD>, kShare = kRows / 4;  // scores of a thread per tile
  SNUG_SHARED(float, memory, [3 * FloatTile<kD>::kFloats]);
  SNUG_SHARED(float, probabilities, [kRows][kRows + 1]);
  const FloatTile<kD> q{memory}, k{memory + FloatTile<kD>::kFloats},
      v{memory + 2 * FloatTile<kD>::kFloats};
  const int r = static_cast<int>(threadIdx.x) / 4, quarter = static_cast<int>(threadIdx.x) % 4;
  const unsigned h = blockIdx.y, b = blockIdx.z;
  const int first = static_cast<int>(gridDim.x - 1 - blockIdx.x) * kRows;
  const int i = first + r;
  const HeadDropout dropout = head_dropout(op.dropout, b, h, op.T_);
  load_rows(q, op.projected(b, h, 0), first);
  float max = -INFINITY, sum = 0;
  RowSums<kD> out;
  for (int first_key = 0; first_key <= first; first_key += kRows) {
    __syncthreads();  // the tiles before have been read
    load_rows(k, op.projected(b, h, 1), first_key);
    load_rows(v, op.projected(b, h, 2), first_key);
    __syncthreads();
    float p[kShare], new_max = max;
#pragma unroll
    for (int s = 0; s < kShare; ++s) {
      const int j = 4 * s + quarter;
      p[s] = first_key + j <= i ? dot<kD>(q.row(r), k.row(j)) * op.scale : -INFINITY;
      new_max = fmaxf(new_max, p[s]);
    }
    new_max = four_lanes_max(new_max);
    const float correction = expf(max - new_max);
    max = new_max;
    float added = 0;
#pragma unroll
    for (int s = 0; s < kShare; ++s) {
      const int j = 4 * s + quarter;
      p[s] = expf(p[s] - max);
      added += p[s];
      probabilities[r][j] = p[s] * factor_of(dropout, i, first_key + j);
    }
    sum = sum * correction + added;
    out.scale(correction);
    __syncwarp();
    for (int j = 0; j < kRows; ++j) out.add(probabilities[r][j], v.row(j));
  }
  sum = four_lanes_sum(sum);
  out.scale(1.0f / sum);
  out.store(op.of_output(op.out_written, b, h), i);
  if (op.lse_written != nullptr && quarter == 0 && i < op.T_) {
    op.lse_written[op.head_start(b, h) + i] = max + logf(sum);
  }
}

// The gradient of the queries (kOfKeys false) or of keys and values. The block's own rows are
// queries or keys, it walks over the others.
template <int kD, bool kOfKeys>
__global__ void __launch_bounds__(kFloatThreads<kD>) backward_kernel(AttentionProblem<float> op) {
  constexpr int kRows = kTileRows<kD>, kShare = kRows / 4;
  using TileD = FloatTile<kD>;
  SNUG_SHARED(float, memory, [4 * TileD::kFloats]);
  SNUG_SHARED(float, dropped, [kRows][kRows + 1]);
  SNUG_SHARED(float, gradients, [kRows][kRows + 1]);
  // In the block's own pair and in the other one: what makes scores (q or k), and what makes the
  // probabilities' gradients (dout or v).
  const TileD own_a{memory}, own_b{memory + TileD::kFloats}, other_a{memory + 2 * TileD::kFloats},
      other_b{memory + 3 * TileD::kFloats};
  const int r = static_cast<int>(threadIdx.x) / 4, quarter = static_cast<int>(threadIdx.x) % 4;
  const unsigned h = blockIdx.y, b = blockIdx.z;
  const auto tile = static_cast<int>(kOfKeys ? blockIdx.x : gridDim.x - 1 - blockIdx.x);
  const int first = tile * kRows, row = first + r;
  const float* lse = op.lse + op.head_start(b, h);
  const float* delta = op.delta + op.head_start(b, h);
  const HeadDropout dropout = head_dropout(op.dropout, b, h, op.T_);
  const HeadRows<const float> q = op.projected(b, h, 0), k = op.projected(b, h, 1),
                              v = op.projected(b, h, 2), dout = op.of_output(op.dout, b, h);
  load_rows(own_a, kOfKeys ? k : q, first);
  load_rows(own_b, kOfKeys ? v : dout, first);
  RowSums<kD> sums, value_sums;
  const int begin = kOfKeys ? first : 0, end = kOfKeys ? op.T_ : first + 1;
  for (int other = begin; other < end; other += kRows) {
    __syncthreads();
    load_rows(other_a, kOfKeys ? q : k, other);
    load_rows(other_b, kOfKeys ? dout : v, other);
    __syncthreads();
#pragma unroll
    for (int s = 0; s < kShare; ++s) {
      const int column = 4 * s + quarter;
      const int i = kOfKeys ? other + column : row, j = kOfKeys ? row : other + column;
      float p = 0, ds = 0, factor = 1;
      if (j <= i && i < op.T_) {
        factor = factor_of(dropout, i, j);
        p = expf(dot<kD>(own_a.row(r), other_a.row(column)) * op.scale - lse[i]);
        ds = p * (dot<kD>(own_b.row(r), other_b.row(column)) * factor - delta[i]);
      }
      dropped[r][column] = p * factor;
      gradients[r][column] = ds * op.scale;
    }
    __syncwarp();
    for (int column = 0; column < kRows; ++column) {
      sums.add(gradients[r][column], other_a.row(column));
      if constexpr (kOfKeys) value_sums.add(dropped[r][column], other_b.row(column));
    }
  }
  sums.store(op.projected_gradient(b, h, kOfKeys ? 1 : 0), row);
  if constexpr (kOfKeys) value_sums.store(op.projected_gradient(b, h, 2), row);
}

template <int kD>
dim3 grid_of(const AttentionProblem<float>& problem, std::int64_t B) {
  return {static_cast<unsigned>(blocks_for(problem.T_, kTileRows<kD>)),
          static_cast<unsigned>(problem.H), static_cast<unsigned>(B)};
}

}  // namespace

template <int kD>
void start_float_forward(const AttentionProblem<float>& problem, std::int64_t B,
                         cudaStream_t stream) {
  launch(forward_kernel<kD>, grid_of<kD>(problem, B), kFloatThreads<kD>, 0, stream, problem);
}

template <int kD>
void start_float_backward(const AttentionProblem<float>& problem, std::int64_t B,
                          cudaStream_t stream) {
  const dim3 grid = grid_of<kD>(problem, B);
  launch(backward_kernel<kD, false>, grid, kFloatThreads<kD>, 0, stream, problem);
  launch(backward_kernel<kD, true>, grid, kFloatThreads<kD>, 0, stream, problem);
}

template void start_float_forward<32>(const AttentionProblem<float>&, std::int64_t, cudaStream_t);
template void start_float_forward<64>(const AttentionProblem<float>&, std::int64_t, cudaStream_t);
template void start_float_forward<128>(const AttentionProblem<float>&, std::int64_t, cudaStream_t);
template void start_float_backward<32>(const AttentionProblem<float>&, std::int64_t, cudaStream_t);
template void start_float_backward<64>(const AttentionProblem<float>&, std::int64_t, cudaStream_t);
template void start_float_backward<128>(const AttentionProblem<float>&, std::int64_t, cudaStream_t);

}  // namespace snug::cuda
