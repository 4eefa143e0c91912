// ldmatrix and mma.sync: all lanes of a warp together. Products are summed in float, in order of k,
// or cut off as on a card (cut_off_sums(), card.h).
#pragma once

#include "emulator/site.h"

namespace emulator {

// ldmatrix.m8n8 of `count` (2 or 4) matrices of 16-bit values.
void load_matrices(unsigned* registers, unsigned count, const void* row, bool transposed,
                   const Site& site);

// mma.m16n8k of float16 or bfloat16, with k 8 or 16: d += a * b.
void multiply_matrices(float* d, const unsigned* a, const unsigned* b, unsigned k, bool bfloat16,
                       const Site& site);

}  // namespace emulator
