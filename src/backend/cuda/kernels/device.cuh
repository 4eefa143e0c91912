// What kernel sources are written against. nvcc compiles them for a card; g++ compiles the same
// files against emulator/include, where a block's threads are fibers (see emulator/README.md).
// Everything that differs between the two is in this file and in device/.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <type_traits>
#include <utility>

#include "backend/cuda/kernels/device/async_copy.cuh"
#include "backend/cuda/kernels/device/packed.cuh"
#include "backend/cuda/kernels/device/tensor_core.cuh"

#ifndef __CUDACC__
#include "emulator/card_launch.h"
#endif

// Shared memory of a block: SNUG_SHARED(float, tile, [32][33]) or SNUG_SHARED(int, flag, ).
// SNUG_DYN_SHARED(float, room) is the dynamic part as a float*. Both begin at multiples of 16
// bytes.
#ifdef __CUDACC__
#define SNUG_SHARED(type, name, ...) __shared__ __align__(16) type name __VA_ARGS__
#define SNUG_DYN_SHARED(type, name)                                \
  extern __shared__ __align__(16) unsigned char snug_dyn_shared[]; \
  type* const name = reinterpret_cast<type*>(snug_dyn_shared)
#else
#define SNUG_SHARED(type, name, ...)                                   \
  static const char name##_declared = 0;                               \
  using name##_type = type __VA_ARGS__;                                \
  name##_type& name = *static_cast<name##_type*>(                      \
      ::emulator::shared_object(&name##_declared, sizeof(name##_type), \
                                alignof(name##_type) < 16 ? 16 : alignof(name##_type)))
#define SNUG_DYN_SHARED(type, name) \
  type* const name = static_cast<type*>(::emulator::dynamic_shared())
#endif

namespace snug::cuda {

// Compute capability that the code is compiled for, times 100.
#if defined(__CUDA_ARCH__)
inline constexpr int kArch = __CUDA_ARCH__;
#else
inline constexpr int kArch = 800;
#endif

// kernel<<<grid, block, dynamic_shared_bytes, stream>>>(args...); errors by cudaGetLastError().
template <typename... Params>
void launch(void (*kernel)(Params...), dim3 grid, dim3 block, std::size_t dynamic_shared_bytes,
            cudaStream_t stream, std::type_identity_t<Params>... args) {
#ifdef __CUDACC__
  kernel<<<grid, block, dynamic_shared_bytes, stream>>>(args...);
#else
  emulator::launch(kernel, {grid, block, dynamic_shared_bytes}, stream, std::move(args)...);
#endif
}

}  // namespace snug::cuda
