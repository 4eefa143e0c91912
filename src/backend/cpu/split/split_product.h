// A float32 product on AMX, in panels of split floats (panels.h).
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
  // Over positions: blocks end where a sequence ends, every `sequence` terms; the first term is at
  // `offset`, a multiple of 32, into one. 0 where the contraction is over something else.
  std::int64_t sequence = 0, offset = 0;
};

// A product of that shape, without its operands' addresses.
SplitProduct split_product(const GemmShape& shape);

// Enough for this product and for every one with fewer terms of the same sequences or, where it
// does not accumulate, fewer rows.
std::int64_t split_scratch_bytes(const SplitProduct& product, int threads);

// Spread over OpenMP's threads; false when they were fewer than asked for, and C is not done.
// `scratch` is aligned to 64 bytes.
[[nodiscard]] bool run_split_product(const SplitProduct& product, const Scratch& scratch);

}  // namespace snug::cpu
