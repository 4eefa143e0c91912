// Attention of one new position against a cache, and the cache's filling: for sampling.
#include <cmath>

#include "backend/cuda/kernels/block_reduce.cuh"
#include "backend/cuda/kernels/kernels.h"

namespace snug::cuda {
namespace {

constexpr int kThreads = 128, kWarps = kThreads / kWarp;

template <class T>
struct DecodeArguments {
  std::int64_t C, D, position, window;
  float scale;
  const T* qkv;
  T *keys, *values, *out;
  float* scores;  // (H, window)
};

// One block per head. Keys are shared out among warps, then columns among threads.
template <class T>
__global__ void __launch_bounds__(kThreads) decode_kernel(DecodeArguments<T> op) {
  SNUG_SHARED(float, maxima, [kWarps]);
  SNUG_SHARED(float, sums, [kWarps]);
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const std::int64_t head = blockIdx.x * op.D, count = op.position + 1;
  float* scores = op.scores + blockIdx.x * op.window;
  for (std::int64_t d = threadIdx.x; d < op.D; d += kThreads) {
    op.keys[op.position * op.C + head + d] = op.qkv[op.C + head + d];
    op.values[op.position * op.C + head + d] = op.qkv[2 * op.C + head + d];
  }
  __syncthreads();  // the new key is in the cache
  float max = -INFINITY;
  for (std::int64_t j = warp; j < count; j += kWarps) {
    float dot = 0;
    for (std::int64_t d = lane; d < op.D; d += kWarp) {
      dot = fmaf(to_float(op.qkv[head + d]), to_float(op.keys[j * op.C + head + d]), dot);
    }
    dot = warp_sum(dot) * op.scale;
    if (lane == 0) scores[j] = dot;
    max = fmaxf(max, dot);
  }
  const auto larger = [](float a, float b) { return fmaxf(a, b); };
  max = block_reduce<kThreads>(max, static_cast<float*>(maxima), larger);
  float sum = 0;
  for (std::int64_t j = threadIdx.x; j < count; j += kThreads) {
    scores[j] = expf(scores[j] - max);
    sum += scores[j];
  }
  const auto add = [](float a, float b) { return a + b; };
  sum = block_reduce<kThreads>(warp_sum(sum), static_cast<float*>(sums), add);
  for (std::int64_t d = threadIdx.x; d < op.D; d += kThreads) {
    float out = 0;
    for (std::int64_t j = 0; j < count; ++j) {
      out = fmaf(scores[j], to_float(op.values[j * op.C + head + d]), out);
    }
    op.out[head + d] = from_float<T>(out / sum);
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    store_kernel(std::int64_t count, std::int64_t C, const T* qkv, T* keys, T* values) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= count) return;
  const std::int64_t row = i / C, c = i % C;
  keys[i] = qkv[row * 3 * C + C + c];
  values[i] = qkv[row * 3 * C + 2 * C + c];
}

}  // namespace

void attention_decode(const AttentionDecode& op, cudaStream_t stream) {
  with_element(op.dtype, [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t D = op.C / op.H;
    const DecodeArguments<T> arguments{op.C,
                                       D,
                                       op.position,
                                       op.window,
                                       static_cast<float>(1.0 / std::sqrt(static_cast<double>(D))),
                                       static_cast<const T*>(op.qkv),
                                       static_cast<T*>(op.keys),
                                       static_cast<T*>(op.values),
                                       static_cast<T*>(op.out),
                                       op.scratch};
    launch(decode_kernel<T>, static_cast<unsigned>(op.H), kThreads, 0, stream, arguments);
  });
}

void kv_store(const KvStore& op, cudaStream_t stream) {
  with_element(op.dtype, [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t count = op.T * op.C;
    launch(store_kernel<T>, static_cast<unsigned>(blocks_for(count, kThreads)), kThreads, 0, stream,
           count, op.C, static_cast<const T*>(op.qkv), static_cast<T*>(op.keys),
           static_cast<T*>(op.values));
  });
}

}  // namespace snug::cuda
