// CUDA's words for where a function runs, which mean nothing on the CPU.
#pragma once

#define __global__
#define __device__
#define __host__
#define __constant__ static const
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __align__(bytes) alignas(bytes)

// `__restrict__` is the compiler's own. `__noinline__` stands in the standard library's headers and
// cannot be had. `__shared__` is missing on purpose: see SNUG_SHARED and its
// like; the emulator has to know where a block's shared objects are.

#define threadIdx (::emulator::t_lane->thread)
#define blockIdx (::emulator::t_lane->block)
#define blockDim (::emulator::t_lane->block_shape)
#define gridDim (::emulator::t_lane->grid_shape)
inline constexpr int warpSize = 32;
