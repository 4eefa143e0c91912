// Products of bfloat16 operands by a unit of the processor that multiplies pairs of them: AMX's
// tiles or AVX-512's vdpbf16ps. 32 x 32 elements of C at a time, 32 terms of the contraction per
// step, sums in registers.
//
// An element's sum runs through its terms in order, blocks of 32 that never cross the end of a
// sequence, so that it has the same bits whatever the rows and columns around it, the threads, and
// the calls that it is spread over. Both units take subnormal numbers for zero; they add up the two
// products of a pair in orders of their own, so that each has its own bits.
#pragma once

#include <cstdint>
#include <optional>

#include "backend/cpu/widened/widened_product.h"

namespace snug::cpu {

enum class TileUnit : std::uint8_t { kAvx512Bf16, kAmx };

// The faster one that this process may use; nothing: products are widened.
std::optional<TileUnit> tile_unit();

// Enough for this product and for every one with fewer rows or terms.
std::int64_t tile_scratch_bytes(const WidenedProductOn<Bf16>& product, int threads, TileUnit unit);

// Runs on OpenMP's threads; `scratch` is aligned to 64 bytes. `offset` must be a multiple of 32.
void run_tile_product(const WidenedProductOn<Bf16>& product, const Scratch& scratch, TileUnit unit);

}  // namespace snug::cpu
