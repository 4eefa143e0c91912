// Softmax cross-entropy over rows of logits, one thread block per row. The row stays in registers
// between the sum and the gradient where it fits, so that logits are read once and written once.
#include "backend/cuda/kernels/block_reduce.cuh"
#include "backend/cuda/kernels/kernels.h"

namespace snug::cuda {
namespace {

// A running maximum and the sum of exp(x - maximum).
struct SoftmaxSum {
  float max, sum;
};

__device__ __forceinline__ SoftmaxSum merged(SoftmaxSum a, SoftmaxSum b) {
  const float max = fmaxf(a.max, b.max);
  if (max == -INFINITY) return {max, 0};
  return {max, a.sum * __expf(a.max - max) + b.sum * __expf(b.max - max)};
}

template <int kWidth>
__device__ __forceinline__ void add_values(SoftmaxSum& total, const float (&x)[kWidth]) {
  float max = total.max;
#pragma unroll
  for (const float value : x) max = fmaxf(max, value);
  if (max == -INFINITY) return;
  float sum = total.sum * __expf(total.max - max);
#pragma unroll
  for (const float value : x) sum += __expf(value - max);
  total = {max, sum};
}

template <int kThreads>
__device__ __forceinline__ SoftmaxSum block_softmax_sum(SoftmaxSum mine) {
  SNUG_SHARED(SoftmaxSum, slots, [kThreads / kWarp]);
  for (int mask = kWarp / 2; mask > 0; mask /= 2) {
    const SoftmaxSum other{__shfl_xor_sync(kAllLanes, mine.max, mask),
                           __shfl_xor_sync(kAllLanes, mine.sum, mask)};
    // The lower lane's first, so that both compute the same.
    mine = (threadIdx.x & mask) == 0 ? merged(mine, other) : merged(other, mine);
  }
  return block_reduce<kThreads>(mine, static_cast<SoftmaxSum*>(slots), merged);
}

template <int kWidth>
__device__ __forceinline__ void to_gradient(float (&x)[kWidth], int first, int target,
                                            SoftmaxSum softmax, float factor) {
  const float inverse = 1.0f / softmax.sum;
#pragma unroll
  for (int k = 0; k < kWidth; ++k) {
    const float p = __expf(x[k] - softmax.max) * inverse;
    x[k] = factor * (first + k == target ? p - 1.0f : p);
  }
}

// kHeld packs of kWidth elements stay with each thread; 0: the row is read again.
template <class T, int kWidth, int kHeld, int kThreads>
__global__ void __launch_bounds__(kThreads, 1)
    cross_entropy_kernel(int V, const std::int32_t* targets, T* logits, float* losses,
                         bool want_gradient, float factor) {
  T* row = logits + static_cast<std::int64_t>(blockIdx.x) * V;
  const int target = targets[blockIdx.x];
  const int first = static_cast<int>(threadIdx.x) * kWidth;
  constexpr int kStep = kThreads * kWidth;
  float x[kWidth];
  if (target < 0) {
    for (float& value : x) value = 0;
    if (want_gradient) {
      for (int v = first; v < V; v += kStep) store_floats(row + v, x);
    }
    if (threadIdx.x == 0) losses[blockIdx.x] = 0;
    return;
  }
  const float target_logit = to_float(row[target]);
  [[maybe_unused]] Packed<T> held[kHeld > 0 ? kHeld : 1];
  SoftmaxSum mine{-INFINITY, 0};
  if constexpr (kHeld > 0) {
#pragma unroll
    for (int i = 0; i < kHeld; ++i) {
      const int v = first + i * kStep;
      if (v >= V) continue;
      held[i] = Packed<T>::load(row + v);
#pragma unroll
      for (int k = 0; k < kWidth; ++k) x[k] = to_float(held[i][k]);
      add_values(mine, x);
    }
  } else {
    for (int v = first; v < V; v += kStep) {
      load_floats(row + v, x);
      add_values(mine, x);
    }
  }
  // Its barrier stands between everybody's reading of the target's logit and its being overwritten.
  const SoftmaxSum softmax = block_softmax_sum<kThreads>(mine);
  if (threadIdx.x == 0) losses[blockIdx.x] = logf(softmax.sum) + softmax.max - target_logit;
  if (!want_gradient) return;
  if constexpr (kHeld > 0) {
#pragma unroll
    for (int i = 0; i < kHeld; ++i) {
      const int v = first + i * kStep;
      if (v >= V) continue;
#pragma unroll
      for (int k = 0; k < kWidth; ++k) x[k] = to_float(held[i][k]);
      to_gradient(x, v, target, softmax, factor);
      store_floats(row + v, x);
    }
  } else {
    for (int v = first; v < V; v += kStep) {
      load_floats(row + v, x);
      to_gradient(x, v, target, softmax, factor);
      store_floats(row + v, x);
    }
  }
}

template <class T>
void launch_cross_entropy(const CrossEntropy& op, cudaStream_t stream) {
  constexpr int kWidth = kPack<T>, kLarge = 1024, kSmall = 128, kMax = 7;
  const auto start = [&](auto kernel, int threads) {
    launch(kernel, static_cast<unsigned>(op.rows), static_cast<unsigned>(threads), 0, stream,
           static_cast<int>(op.V), op.targets, static_cast<T*>(op.logits), op.losses,
           op.want_gradient, op.gradient_factor);
  };
  if (op.V % kWidth != 0) return start(cross_entropy_kernel<T, 1, 0, kSmall>, kSmall);
  if (op.V <= kSmall * kWidth) return start(cross_entropy_kernel<T, kWidth, 1, kSmall>, kSmall);
  // Seven packs of eight hold GPT-2's 50304 logits in 16 bits; more would leave no registers.
  if (op.V <= kMax * kLarge * kWidth) {
    return start(cross_entropy_kernel<T, kWidth, kMax, kLarge>, kLarge);
  }
  start(cross_entropy_kernel<T, kWidth, 0, kLarge>, kLarge);
}

}  // namespace

void cross_entropy(const CrossEntropy& op, cudaStream_t stream) {
  with_element(op.dtype, [&](auto zero) { launch_cross_entropy<decltype(zero)>(op, stream); });
}

}  // namespace snug::cuda
