// A *split product*: a float32 matrix product on AMX, whose operands are split into three bfloat16
// per float (panels.h).
//
// An element of C is summed block after block of the contraction, so that it has the same bits
// whatever the rows and columns around it, the threads, and the calls that its sum is spread over.
#pragma once

#include "backend/cpu/gemm.h"
#include "backend/cpu/scratch.h"
#include "backend/cpu/split/panels.h"

namespace snug::cpu {

struct SplitProduct {
  std::int64_t m = 0, n = 0, k = 0;
  Lines a{}, b{};               // m and n lines of k terms
  float* c = nullptr;           // (m, n), dense
  const float* bias = nullptr;  // (n), or null; not with accumulate
  bool accumulate = false;      // c += instead of c =
  // For a contraction over positions: blocks end where a sequence ends, every `sequence` terms, and
  // the first term is `offset` (a multiple of 32) terms into a sequence. 0 for other contractions.
  std::int64_t sequence = 0, offset = 0;
};

// A product of that shape, without its operands' addresses.
SplitProduct split_product(const GemmShape& shape);

// Enough for this product, for every product with fewer terms of the same sequences and, if it does
// not accumulate, for every product with fewer rows.
std::int64_t split_scratch_bytes(const SplitProduct& product, int threads);

// Runs on OpenMP's threads. Returns false, with C incomplete, when there were fewer than asked for.
// `scratch` is aligned to 64 bytes.
[[nodiscard]] bool run_split_product(const SplitProduct& product, const Scratch& scratch);

}  // namespace snug::cpu
