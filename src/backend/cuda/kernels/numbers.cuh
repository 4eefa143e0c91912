// Elements of any precision as floats, one or several at a time; sums over a warp and a block.
#pragma once

#include "backend/cuda/kernels/device.cuh"
#include "base/dtype.h"

namespace snug::cuda {

__device__ __forceinline__ float to_float(float x) { return x; }
__device__ __forceinline__ float to_float(__nv_bfloat16 x) { return __bfloat162float(x); }
__device__ __forceinline__ float to_float(__half x) { return __half2float(x); }

template <class T>
__device__ __forceinline__ T from_float(float x);
template <>
__device__ __forceinline__ float from_float<float>(float x) {
  return x;
}
template <>
__device__ __forceinline__ __nv_bfloat16 from_float<__nv_bfloat16>(float x) {
  return __float2bfloat16_rn(x);
}
template <>
__device__ __forceinline__ __half from_float<__half>(float x) {
  return __float2half_rn(x);
}

// x as it is after a trip through memory of type T.
template <class T>
__device__ __forceinline__ float rounded(float x) {
  return to_float(from_float<T>(x));
}

// How many elements of T one 128-bit access has.
template <class T>
constexpr int kPack = 16 / static_cast<int>(sizeof(T));

// kWidth elements from p on: one by one, or by 128-bit accesses where kWidth is a multiple of
// kPack<T> and p is aligned to 16 bytes.
template <class T, int kWidth>
__device__ __forceinline__ void load_floats(const T* p, float (&x)[kWidth]) {
  if constexpr (kWidth % kPack<T> == 0) {
#pragma unroll
    for (int i = 0; i < kWidth; i += kPack<T>) {
      const Packed<T> pack = Packed<T>::load(p + i);
#pragma unroll
      for (int j = 0; j < kPack<T>; ++j) x[i + j] = to_float(pack[j]);
    }
  } else {
#pragma unroll
    for (int i = 0; i < kWidth; ++i) x[i] = to_float(p[i]);
  }
}

template <class T, int kWidth>
__device__ __forceinline__ void store_floats(T* p, const float (&x)[kWidth]) {
  if constexpr (kWidth % kPack<T> == 0) {
#pragma unroll
    for (int i = 0; i < kWidth; i += kPack<T>) {
      Packed<T> pack;
#pragma unroll
      for (int j = 0; j < kPack<T>; ++j) pack[j] = from_float<T>(x[i + j]);
      pack.store(p + i);
    }
  } else {
#pragma unroll
    for (int i = 0; i < kWidth; ++i) p[i] = from_float<T>(x[i]);
  }
}

constexpr unsigned kAllLanes = 0xffffffffu;
constexpr int kWarp = 32;

// The same bits in every lane.
template <class Number>
__device__ __forceinline__ Number warp_sum(Number x) {
#pragma unroll
  for (int mask = kWarp / 2; mask > 0; mask /= 2) x += __shfl_xor_sync(kAllLanes, x, mask);
  return x;
}
__device__ __forceinline__ float warp_max(float x) {
#pragma unroll
  for (int mask = kWarp / 2; mask > 0; mask /= 2) {
    x = fmaxf(x, __shfl_xor_sync(kAllLanes, x, mask));
  }
  return x;
}

// Calls `use` with a zero of the element type that dtype names.
template <class Use>
void with_element(DType dtype, Use use) {
  switch (dtype) {
    case DType::kBF16:
      return use(__nv_bfloat16());
    case DType::kF16:
      return use(__half());
    default:
      return use(0.0f);
  }
}

constexpr std::int64_t blocks_for(std::int64_t count, std::int64_t per_block) {
  return (count + per_block - 1) / per_block;
}

}  // namespace snug::cuda
