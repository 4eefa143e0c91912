// Which of attention's kernels runs: by precision, head size and what the card's tensor cores can.
#include <cmath>

#include "backend/cuda/kernels/attention/float.h"
#include "backend/cuda/kernels/attention/launchers.h"
#include "backend/cuda/kernels/kernels.h"

namespace snug::cuda {
namespace {

constexpr int kRowsPerBlock = 8;

// delta[b, h, t] = sum over the head of dout * out: one warp per row and head.
template <class T>
__global__ void __launch_bounds__(kRowsPerBlock* kWarp)
    delta_kernel(unsigned count, unsigned T_, unsigned H, int D, const T* out, const T* dout,
                 float* delta) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const unsigned item = blockIdx.x * kRowsPerBlock + threadIdx.x / kWarp;
  if (item >= count) return;
  const unsigned row = item / H, h = item % H;  // neighbouring warps, neighbouring heads
  const std::int64_t first = static_cast<std::int64_t>(item) * D;
  float sum = 0;
  for (int d = lane; d < D; d += kWarp) {
    sum = fmaf(to_float(out[first + d]), to_float(dout[first + d]), sum);
  }
  sum = warp_sum(sum);
  const unsigned b = row / T_, t = row % T_;
  if (lane == 0) delta[(static_cast<std::int64_t>(b) * H + h) * T_ + t] = sum;
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
    const std::int64_t count = op.B * op.T * op.H;
    launch(delta_kernel<T>, static_cast<unsigned>(blocks_for(count, kRowsPerBlock)),
           kRowsPerBlock * kWarp, 0, stream, static_cast<unsigned>(count),
           static_cast<unsigned>(op.T), static_cast<unsigned>(op.H), problem.D,
           static_cast<const T*>(op.out), problem.dout, op.scratch);
    if constexpr (sizeof(T) == 4) {
      start_float_backward<kD>(problem, op.B, stream);
    } else {
      start_query_backward<T, kD, decltype(halves)::value>(problem, op.B, stream);
      start_key_backward<T, kD, decltype(halves)::value>(problem, op.B, stream);
    }
  });
}

}  // namespace snug::cuda
