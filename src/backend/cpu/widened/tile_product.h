// Products of bfloat16 operands by AMX's tiles: 32 x 32 elements of C at a time, 32 terms of the
// contraction per step, sums in the tile registers.
//
// An element's sum runs through its terms in order, blocks of 32 that never cross the end of a
// sequence, so that it has the same bits whatever the rows and columns around it, the threads, and
// the calls that it is spread over. AMX takes subnormal numbers for zero.
#pragma once

#include "backend/cpu/widened/widened_product.h"

namespace snug::cpu {

// Where amx_usable(). Enough for this product and for every one with fewer rows or terms.
std::int64_t tile_scratch_bytes(const WidenedProductOn<Bf16>& product, int threads);

// Runs on OpenMP's threads; `scratch` is aligned to 64 bytes. `offset` must be a multiple of 32.
void run_tile_product(const WidenedProductOn<Bf16>& product, const Scratch& scratch);

}  // namespace snug::cpu
