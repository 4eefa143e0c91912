// A *widened product*: a matrix product of 16-bit operands on any processor. Operands are widened
// to float as they are packed, multiplied and summed in float, and the result is rounded once.
//
// An element's sum runs through blocks of kWidenedDepth terms in order, so that it has the same
// bits whatever the rows and columns around it, the threads, and the calls that it is spread over.
#pragma once

#include <cstdint>

#include "backend/cpu/gemm.h"
#include "backend/cpu/scratch.h"
#include "base/float16.h"

namespace snug::cpu {

// Terms of the contraction that are summed in registers before they join the element's sum. Chunks
// of the loss head begin on multiples of it within a sequence.
constexpr std::int64_t kWidenedDepth = 128;

// A matrix whose line i is contracted over k. Element (i, k) is data[i * stride + k], or
// data[k * stride + i] if k_along_stride.
template <class X>
struct LinesOf {
  const X* data;
  std::int64_t stride;
  bool k_along_stride;
};

template <class X>
struct WidenedProductOn {
  std::int64_t m = 0, n = 0, k = 0;
  LinesOf<X> a{}, b{};          // m and n lines of k terms
  X* y = nullptr;               // (m, n), dense: where the result is rounded to; or null, and
  float* c = nullptr;           // (m, n), dense: where it stays float
  const float* bias = nullptr;  // (n), or null; not with accumulate
  bool accumulate = false;      // c += instead of c =
  // For a contraction over positions: blocks end where a sequence ends, every `sequence` terms, and
  // the first term is `offset` (a multiple of kWidenedDepth) terms into a sequence. 0: others.
  std::int64_t sequence = 0, offset = 0;
};

// A product of that shape, without its operands' and result's addresses.
template <class X>
WidenedProductOn<X> widened_product(const GemmShape& s) {
  WidenedProductOn<X> p;
  p.m = s.m, p.n = s.n, p.k = s.k;
  p.a = {nullptr, s.transpose_a ? s.m : s.k, s.transpose_a};
  p.b = {nullptr, s.transpose_b ? s.k : s.n, !s.transpose_b};
  p.accumulate = s.accumulate;
  return p;
}

// Enough for m x n results and for those of fewer rows or columns, on so many threads.
std::int64_t widened_scratch_bytes(std::int64_t m, std::int64_t n, int threads);

// Runs on OpenMP's threads; `scratch` is aligned to 64 bytes.
template <class X>
void run_widened_product(const WidenedProductOn<X>& product, const Scratch& scratch);

}  // namespace snug::cpu
