// Which of attention's kernels runs: by precision, head size and what the card's tensor cores can.
#include <cmath>

#include "backend/cuda/kernels/attention/launchers.h"
#include "backend/cuda/kernels/kernels.h"

namespace snug::cuda {
namespace {

constexpr int kDeltaWarps = 8;   // of a block
constexpr int kDeltaRows = 8;    // of a warp: their results fill a sector
constexpr int kLanesPerRow = 8;  // four rows at a time
constexpr int kAtOnce = kWarp / kLanesPerRow;

// delta[b, h, t] = sum over the head of dout * out: a warp has eight neighbouring rows of one head.
// Neighbouring warps have neighbouring heads.
template <class T, int kWidth>
__global__ void __launch_bounds__(kDeltaWarps* kWarp)
    delta_kernel(unsigned count, unsigned groups, int T_, unsigned H, int D, const T* out,
                 const T* dout, float* delta) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const unsigned item = blockIdx.x * kDeltaWarps + threadIdx.x / kWarp;
  if (item >= count) return;
  const unsigned h = item % H, b = item / H / groups;
  const int first = static_cast<int>(item / H % groups) * kDeltaRows;
  float sums[kDeltaRows / kAtOnce];
#pragma unroll
  for (int r = 0; r < kDeltaRows / kAtOnce; ++r) {
    const int t = first + r * kAtOnce + lane / kLanesPerRow;
    const std::int64_t at = ((static_cast<std::int64_t>(b) * T_ + t) * H + h) * D;
    float sum = 0;
    for (int d = lane % kLanesPerRow * kWidth; t < T_ && d < D; d += kLanesPerRow * kWidth) {
      float x[kWidth], y[kWidth];
      load_floats(out + at + d, x);
      load_floats(dout + at + d, y);
#pragma unroll
      for (int k = 0; k < kWidth; ++k) sum = fmaf(x[k], y[k], sum);
    }
#pragma unroll
    for (int mask = 1; mask < kLanesPerRow; mask *= 2) sum += __shfl_xor_sync(kAllLanes, sum, mask);
    sums[r] = sum;
  }
  const int from = lane % kAtOnce * kLanesPerRow;
  const float low = __shfl_sync(kAllLanes, sums[0], from);
  const float high = __shfl_sync(kAllLanes, sums[1], from);
  if (lane >= kDeltaRows || first + lane >= T_) return;
  delta[(static_cast<std::int64_t>(b) * H + h) * T_ + first + lane] = lane < kAtOnce ? low : high;
}

template <class T>
void start_delta(const AttentionBackward& op, cudaStream_t stream) {
  const std::int64_t groups = blocks_for(op.T, kDeltaRows), count = op.B * op.H * groups;
  const auto D = static_cast<int>(op.C / op.H);
  launch(D % kPack<T> == 0 ? delta_kernel<T, kPack<T>> : delta_kernel<T, 1>,
         static_cast<unsigned>(blocks_for(count, kDeltaWarps)), kDeltaWarps * kWarp, 0, stream,
         static_cast<unsigned>(count), static_cast<unsigned>(groups), static_cast<int>(op.T),
         static_cast<unsigned>(op.H), D, static_cast<const T*>(op.out),
         static_cast<const T*>(op.dout), op.scratch);
}

template <class T, class Op>
AttentionProblem<T> problem_of(const Op& op) {
  AttentionProblem<T> problem{};
  problem.T_ = static_cast<int>(op.T);
  problem.C = op.C;
  problem.H = static_cast<int>(op.H);
  problem.D = static_cast<int>(op.C / op.H);
  problem.aligned = problem.D % 8 == 0;
  problem.scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(problem.D)));
  problem.qkv = static_cast<const T*>(op.qkv);
  problem.dropout = op.dropout;
  return problem;
}

// use(size) with the smallest of the kernels' head sizes that holds D.
template <class Use>
void with_head_size(std::int64_t D, Use use) {
  if (D <= 32) return use(std::integral_constant<int, 32>());
  if (D <= 64) return use(std::integral_constant<int, 64>());
  use(std::integral_constant<int, 128>());
}

// use(zero of the element type, size, whether products are made in halves).
template <class Op, class Use>
void with_kernels(const Op& op, Use use) {
  with_element(op.dtype, [&](auto zero) {
    with_head_size(op.C / op.H, [&](auto size) {
      if constexpr (std::is_same_v<decltype(zero), __half>) {
        if (op.tensor_cores == TensorCores::kTuring) return use(zero, size, std::true_type());
      }
      use(zero, size, std::false_type());
    });
  });
}

}  // namespace

void attention(const Attention& op, cudaStream_t stream) {
  with_kernels(op, [&](auto zero, auto size, auto halves) {
    using T = decltype(zero);
    constexpr int kD = decltype(size)::value;
    AttentionProblem<T> problem = problem_of<T>(op);
    problem.out_written = static_cast<T*>(op.out);
    problem.lse_written = op.lse;
    if constexpr (sizeof(T) == 4) {
      start_float_forward<kD>(problem, op.B, stream);
    } else {
      start_forward<T, kD, decltype(halves)::value>(problem, op.B, stream);
    }
  });
}

void attention_backward(const AttentionBackward& op, cudaStream_t stream) {
  with_kernels(op, [&](auto zero, auto size, auto halves) {
    using T = decltype(zero);
    constexpr int kD = decltype(size)::value;
    AttentionProblem<T> problem = problem_of<T>(op);
    problem.dout = static_cast<const T*>(op.dout);
    problem.dqkv = static_cast<T*>(op.dqkv);
    problem.lse = op.lse;
    problem.delta = op.scratch;
    start_delta<T>(op, stream);
    if constexpr (sizeof(T) == 4) {
      start_float_backward<kD>(problem, op.B, stream);
    } else {
      start_query_backward<T, kD, decltype(halves)::value>(problem, op.B, stream);
      start_key_backward<T, kD, decltype(halves)::value>(problem, op.B, stream);
    }
  });
}

}  // namespace snug::cuda
