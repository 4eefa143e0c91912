// One attention call as its kernels see it: B sequences of T positions, H heads of D, the rows of
// q, k and v within the fused projection.
#pragma once

#include <cstdint>

#include "backend/cuda/kernels/attention/dropout.cuh"
#include "backend/cuda/kernels/attention/tile.cuh"

namespace snug::cuda {

constexpr float kLog2E = 1.4426950408889634f, kLn2 = 0.6931471805599453f;

template <class T>
struct AttentionProblem {
  std::int64_t C;
  int T_, H, D;
  bool aligned;
  float scale;  // 1 / sqrt(D)
  const T *qkv, *out, *dout;
  T *out_written, *dqkv;
  float* lse_written;
  const float *lse, *delta;  // (B, H, T)
  Dropout dropout;

  // Where a head's row numbers (B, H, T) begin.
  __device__ __forceinline__ std::int64_t head_start(unsigned b, unsigned h) const {
    return (static_cast<std::int64_t>(b) * H + h) * T_;
  }
  // Part 0, 1, 2: q, k, v.
  __device__ __forceinline__ HeadRows<const T> projected(unsigned b, unsigned h, int part) const {
    return {qkv + static_cast<std::int64_t>(b) * T_ * 3 * C + part * C + h * D, 3 * C, T_, D,
            aligned};
  }
  __device__ __forceinline__ HeadRows<T> projected_gradient(unsigned b, unsigned h,
                                                            int part) const {
    return {dqkv + static_cast<std::int64_t>(b) * T_ * 3 * C + part * C + h * D, 3 * C, T_, D,
            aligned};
  }
  template <class Element>
  __device__ __forceinline__ HeadRows<Element> of_output(Element* data, unsigned b,
                                                         unsigned h) const {
    return {data + static_cast<std::int64_t>(b) * T_ * C + h * D, C, T_, D, aligned};
  }
};

}  // namespace snug::cuda
