// Tiles of 16-bit rows in shared memory, and the fragments that tensor cores take from them. Packs
// of 16 bytes are permuted within a row so that neither ldmatrix nor the copies meet a bank twice.
#pragma once

#include "backend/cuda/kernels/numbers.cuh"

namespace snug::cuda {

constexpr int kTileThreads = 128;  // four warps, 16 rows each
constexpr int kFragmentRows = 16;

// kD elements per row.
template <class T, int kD>
struct Tile {
  static constexpr int kPacks = kD / 8;
  T* data;

  // Pack `pack` of row `row`.
  __device__ __forceinline__ T* at(int row, int pack) const {
    const int turn = kPacks >= 8 ? row & 7 : row >> 1 & 3;
    return data + row * kD + (pack ^ turn) * 8;
  }
  // The place of column `c`; that of an even one is aligned to two elements.
  __device__ __forceinline__ T* element(int row, int c) const { return at(row, c / 8) + c % 8; }
};

// Rows of one head: `row_stride` elements apart, D wide; those from `row_count` on read as zeros.
template <class T>
struct HeadRows {
  T* data;
  std::int64_t row_stride;
  int row_count, D;
  bool aligned;  // every row begins on 16 bytes and D is a multiple of 8
};

// kRows rows from `first` on into a tile. The copies are asynchronous where rows are aligned.
template <int kRows, class T, int kD>
__device__ __forceinline__ void load_tile(const Tile<T, kD>& tile, const HeadRows<const T>& rows,
                                          int first) {
  constexpr int kPacks = kD / 8;
  // Without cp.async a copy passes through registers, which are full: one at a time.
  [[maybe_unused]] constexpr int kAtOnce = kArch < 800 ? 1 : kRows * kPacks / kTileThreads;
#pragma unroll kAtOnce
  for (int item = static_cast<int>(threadIdx.x); item < kRows * kPacks; item += kTileThreads) {
    const int row = item / kPacks, pack = item % kPacks;
    const bool inside = first + row < rows.row_count;
    if (rows.aligned) {
      const bool there = inside && pack * 8 < rows.D;
      const T* from = rows.data + (there ? (first + row) * rows.row_stride + pack * 8 : 0);
      copy_async_16(tile.at(row, pack), from, there ? 16u : 0u);
    } else {
      T* to = tile.at(row, pack);
      for (int k = 0; k < 8; ++k) {
        const int d = pack * 8 + k;
        to[k] = inside && d < rows.D ? rows.data[(first + row) * rows.row_stride + d]
                                     : from_float<T>(0.0f);
      }
    }
  }
}

// The rows of one warp from its part of a tile to memory; the warp has written them.
template <class T, int kD>
__device__ __forceinline__ void store_rows(const Tile<T, kD>& tile, const HeadRows<T>& rows,
                                           int first, int warp_row) {
  constexpr int kPacks = kD / 8;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  __syncwarp();
  for (int item = lane; item < kFragmentRows * kPacks; item += kWarp) {
    const int row = warp_row + item / kPacks, pack = item % kPacks;
    if (first + row >= rows.row_count || pack * 8 >= rows.D) continue;
    T* to = rows.data + (first + row) * rows.row_stride + pack * 8;
    if (rows.aligned) {
      Packed<T>::load(tile.at(row, pack)).store(to);
    } else {
      for (int k = 0; k < 8 && pack * 8 + k < rows.D; ++k) to[k] = tile.at(row, pack)[k];
    }
  }
}

// Rows `row` to `row` + 15 and columns 16 k to 16 k + 15 as the left operand.
template <class T, int kD>
__device__ __forceinline__ void load_left(unsigned (&a)[4], const Tile<T, kD>& tile, int row,
                                          int k) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp, matrix = lane / 8;
  ldmatrix_x4(a, tile.at(row + (matrix & 1) * 8 + lane % 8, 2 * k + (matrix >> 1)));
}

// The transpose of rows `row` to `row` + 15, columns 16 k to 16 k + 15, as the right operand: the
// rows are its columns. b[0], b[1] are of the first eight rows, b[2], b[3] of the others.
template <class T, int kD>
__device__ __forceinline__ void load_right_transposed(unsigned (&b)[4], const Tile<T, kD>& tile,
                                                      int row, int k) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp, matrix = lane / 8;
  ldmatrix_x4(b, tile.at(row + (matrix >> 1) * 8 + lane % 8, 2 * k + (matrix & 1)));
}

// Rows `row` to `row` + 15, columns 16 n to 16 n + 15, as the right operand. b[0], b[1] are of the
// first eight columns, b[2], b[3] of the others.
template <class T, int kD>
__device__ __forceinline__ void load_right(unsigned (&b)[4], const Tile<T, kD>& tile, int row,
                                           int n) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp, matrix = lane / 8;
  ldmatrix_x4_trans(b, tile.at(row + (matrix & 1) * 8 + lane % 8, 2 * n + (matrix >> 1)));
}

// d += a b for 16 x 16 times 16 x 8. Cards before sm_80 do it in two halves.
template <class T, bool kHalves>
__device__ __forceinline__ void multiply_add(float (&d)[4], const unsigned (&a)[4], unsigned b0,
                                             unsigned b1) {
  if constexpr (kHalves) {
    const unsigned left0[2] = {a[0], a[1]}, left1[2] = {a[2], a[3]};
    const unsigned right0[1] = {b0}, right1[1] = {b1};
    mma_1688(d, left0, right0);
    mma_1688(d, left1, right1);
  } else {
    const unsigned right[2] = {b0, b1};
    mma_16816<T>(d, a, right);
  }
}

__device__ __forceinline__ unsigned packed_pair(float low, float high, __nv_bfloat16) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  unsigned bits;
  memcpy(&bits, &pair, sizeof bits);
  return bits;
}
__device__ __forceinline__ unsigned packed_pair(float low, float high, __half) {
  const __half2 pair = __floats2half2_rn(low, high);
  unsigned bits;
  memcpy(&bits, &pair, sizeof bits);
  return bits;
}

// Both in one access of 32 bits.
template <class T>
__device__ __forceinline__ void put_pair(T* to, float low, float high) {
  struct alignas(2 * sizeof(T)) Pair {
    T low, high;
  };
  *reinterpret_cast<Pair*>(to) = {from_float<T>(low), from_float<T>(high)};
}

// Two neighbouring 16 x 8 results as the left operand of the next product.
template <class T>
__device__ __forceinline__ void as_left(unsigned (&a)[4], const float (&x)[4],
                                        const float (&y)[4]) {
  a[0] = packed_pair(x[0], x[1], T());
  a[1] = packed_pair(x[2], x[3], T());
  a[2] = packed_pair(y[0], y[1], T());
  a[3] = packed_pair(y[2], y[3], T());
}

// scores[n] (16 x 8 each) = rows of `left` times the transpose of kColumns rows of `right`.
template <class T, bool kHalves, int kD, int kColumns>
__device__ __forceinline__ void multiply_transposed(float (&scores)[kColumns / 8][4],
                                                    const Tile<T, kD>& left, int row,
                                                    const Tile<T, kD>& right) {
#pragma unroll
  for (int n = 0; n < kColumns / 8; ++n) {
#pragma unroll
    for (float& s : scores[n]) s = 0;
  }
  [[maybe_unused]] constexpr int kUnrolled =
      kD > 64 ? 2 : kD / 16;  // wide heads leave few registers
#pragma unroll kUnrolled
  for (int k = 0; k < kD / 16; ++k) {
    unsigned a[4];
    load_left(a, left, row, k);
#pragma unroll
    for (int n = 0; n < kColumns / 16; ++n) {
      unsigned b[4];
      load_right_transposed(b, right, n * 16, k);
      multiply_add<T, kHalves>(scores[2 * n], a, b[0], b[1]);
      multiply_add<T, kHalves>(scores[2 * n + 1], a, b[2], b[3]);
    }
  }
}

// sums (16 x kD) += p (16 x kRows, as results of products) times a tile of kRows rows.
template <class T, bool kHalves, int kD, int kRows>
__device__ __forceinline__ void multiply_into(float (&sums)[kD / 8][4],
                                              const float (&p)[kRows / 8][4],
                                              const Tile<T, kD>& right) {
#pragma unroll
  for (int k = 0; k < kRows / 16; ++k) {
    unsigned a[4];
    as_left<T>(a, p[2 * k], p[2 * k + 1]);
#pragma unroll
    for (int n = 0; n < kD / 16; ++n) {
      unsigned b[4];
      load_right(b, right, k * 16, n);
      multiply_add<T, kHalves>(sums[2 * n], a, b[0], b[1]);
      multiply_add<T, kHalves>(sums[2 * n + 1], a, b[2], b[3]);
    }
  }
}

// sums * (factor of each half's row) as rows of a tile, from `row` on.
template <class T, int kD>
__device__ __forceinline__ void put_rows(const Tile<T, kD>& tile, int row,
                                         const float (&sums)[kD / 8][4], float factor0,
                                         float factor1) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int r = row + lane / 4, c = lane % 4 * 2;
#pragma unroll
  for (int n = 0; n < kD / 8; ++n) {
    put_pair(tile.element(r, n * 8 + c), sums[n][0] * factor0, sums[n][1] * factor0);
    put_pair(tile.element(r + 8, n * 8 + c), sums[n][2] * factor1, sums[n][3] * factor1);
  }
}

}  // namespace snug::cuda
