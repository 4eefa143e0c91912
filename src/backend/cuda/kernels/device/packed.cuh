// 128-bit accesses. An address is a multiple of 16 bytes: of global memory; load_128's may be of
// shared memory, too.
#pragma once

#include <cuda_runtime.h>

#ifndef __CUDACC__
#include "emulator/access.h"
#endif

namespace snug::cuda {

__device__ inline uint4 load_128(const void* address) {
#ifdef __CUDACC__
  return *static_cast<const uint4*>(address);
#else
  return emulator::load<uint4>(address);
#endif
}

// By an intrinsic: nvcc takes an assignment apart where the value comes out of a branch, and stores
// four words.
__device__ inline void store_128(void* address, uint4 value) {
#ifdef __CUDACC__
  __stwb(static_cast<uint4*>(address), value);
#else
  emulator::store(address, value);
#endif
}

// Global memory that is read or written once: it leaves the caches first.
__device__ inline uint4 load_128_streaming(const void* address) {
#ifdef __CUDACC__
  return __ldcs(static_cast<const uint4*>(address));
#else
  return emulator::load<uint4>(address);
#endif
}

__device__ inline void store_128_streaming(void* address, uint4 value) {
#ifdef __CUDACC__
  __stcs(static_cast<uint4*>(address), value);
#else
  emulator::store(address, value);
#endif
}

// Global memory that nobody writes during the kernel.
__device__ inline uint4 load_128_readonly(const void* address) {
#ifdef __CUDACC__
  return __ldg(static_cast<const uint4*>(address));
#else
  return emulator::load<uint4>(address);
#endif
}

// 16 bytes of T in registers.
template <typename T>
struct alignas(16) Packed {
  static constexpr int kCount = 16 / static_cast<int>(sizeof(T));
  T values[kCount];

  __device__ T& operator[](int i) { return values[i]; }
  __device__ const T& operator[](int i) const { return values[i]; }

  __device__ static Packed load(const T* from) { return from_bits(load_128(from)); }
  __device__ static Packed load_streaming(const T* from) {
    return from_bits(load_128_streaming(from));
  }
  __device__ static Packed load_readonly(const T* from) {
    return from_bits(load_128_readonly(from));
  }
  __device__ void store(T* to) const { store_128(to, bits()); }
  __device__ void store_streaming(T* to) const { store_128_streaming(to, bits()); }

 private:
  __device__ static Packed from_bits(uint4 bits) {
    Packed packed;
    memcpy(&packed, &bits, sizeof bits);
    return packed;
  }
  __device__ uint4 bits() const {
    uint4 result;
    memcpy(&result, this, sizeof result);
    return result;
  }
};

}  // namespace snug::cuda
