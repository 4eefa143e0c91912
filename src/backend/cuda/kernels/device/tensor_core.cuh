// Tensor-core products of a warp: fragments from shared memory by ldmatrix, d += a * b by mma.sync.
// Which element of a matrix is in which register of which lane is the PTX manual's ("Matrix
// Fragments for mma.m16n8k16"); with row = lane / 4, pair = lane % 4 * 2:
//   a[0..3]: (row, pair..), (row + 8, pair..), (row, pair + 8..), (row + 8, pair + 8..), two each
//   b[0..1]: (pair.., row), (pair + 8.., row), two each     d: (row, pair..), (row + 8, pair..)
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <type_traits>

#ifdef __CUDACC__
#include "backend/cuda/kernels/device/async_copy.cuh"
#else
#include "emulator/tensor_core.h"
#endif

namespace snug::cuda {

// Whether code for these tensor cores may run on the card that it is compiled for: Turing's on
// cards before sm_80, the others' from there on. The emulator runs both.
template <bool kTuring>
constexpr bool is_for_this_card() {
#if defined(__CUDA_ARCH__)
  return kTuring == (__CUDA_ARCH__ < 800);
#else
  return true;
#endif
}
// Ends a kernel of another card's tensor cores; the host picks kernels by capability.
__device__ inline void refuse_this_card() {
#ifdef __CUDACC__
  __trap();
#endif
}

#ifdef __CUDACC__
#define SNUG_LDMATRIX(name, shape, count, outputs, address, ...)                               \
  __device__ inline void name(unsigned(&r)[count], const void* shared_row) {                   \
    asm volatile("ldmatrix.sync.aligned.m8n8." shape ".shared.b16 " outputs ", [" address "];" \
                 : __VA_ARGS__                                                                 \
                 : "r"(shared_address(shared_row))                                             \
                 : "memory");                                                                  \
  }
// Each lane gives the address of one row of eight 16-bit values: lanes 0..7 those of the first 8x8
// matrix, 8..15 of the second, and so on. With x2 only the first 16 lanes' addresses count.
SNUG_LDMATRIX(ldmatrix_x4, "x4", 4, "{%0, %1, %2, %3}", "%4", "=r"(r[0]), "=r"(r[1]), "=r"(r[2]),
              "=r"(r[3]))
SNUG_LDMATRIX(ldmatrix_x4_trans, "x4.trans", 4, "{%0, %1, %2, %3}", "%4", "=r"(r[0]), "=r"(r[1]),
              "=r"(r[2]), "=r"(r[3]))
SNUG_LDMATRIX(ldmatrix_x2, "x2", 2, "{%0, %1}", "%2", "=r"(r[0]), "=r"(r[1]))
SNUG_LDMATRIX(ldmatrix_x2_trans, "x2.trans", 2, "{%0, %1}", "%2", "=r"(r[0]), "=r"(r[1]))
#undef SNUG_LDMATRIX

// m16n8k16, T being __nv_bfloat16 or __half (sm_80 and later), sums in float.
template <typename T>
__device__ inline void mma_16816(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
#if __CUDA_ARCH__ >= 800
  if constexpr (std::is_same_v<T, __half>) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  } else {
    static_assert(std::is_same_v<T, __nv_bfloat16>);
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
#else
  refuse_this_card();
#endif
}

// m16n8k8 of __half, from sm_75 on: a[0] rows 0..7, a[1] rows 8..15, eight columns.
__device__ inline void mma_1688(float (&d)[4], const unsigned (&a)[2], const unsigned (&b)[1]) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 "
      "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(b[0]));
}

#else

using emulator::Site;

inline void ldmatrix_x4(unsigned (&r)[4], const void* row, const Site& site = Site::current()) {
  emulator::load_matrices(r, 4, row, false, site);
}
inline void ldmatrix_x4_trans(unsigned (&r)[4], const void* row,
                              const Site& site = Site::current()) {
  emulator::load_matrices(r, 4, row, true, site);
}
inline void ldmatrix_x2(unsigned (&r)[2], const void* row, const Site& site = Site::current()) {
  emulator::load_matrices(r, 2, row, false, site);
}
inline void ldmatrix_x2_trans(unsigned (&r)[2], const void* row,
                              const Site& site = Site::current()) {
  emulator::load_matrices(r, 2, row, true, site);
}

template <typename T>
void mma_16816(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2],
               const Site& site = Site::current()) {
  static_assert(std::is_same_v<T, __nv_bfloat16> || std::is_same_v<T, __half>);
  emulator::multiply_matrices(d, a, b, 16, std::is_same_v<T, __nv_bfloat16>, site);
}

inline void mma_1688(float (&d)[4], const unsigned (&a)[2], const unsigned (&b)[1],
                     const Site& site = Site::current()) {
  emulator::multiply_matrices(d, a, b, 8, false, site);
}

#endif

}  // namespace snug::cuda
