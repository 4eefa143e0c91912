// A product of one row of activations with a weight, as sampling makes them: bound by reading the
// weight once, so plain dot products instead of tiles. The same bits on any number of threads.
#pragma once

#include "backend/cpu/widened/widened_product.h"

namespace snug::cpu {

// Whether m is 1 and the terms of B's lines lie side by side.
template <class X>
bool is_one_row(const WidenedProductOn<X>& product) {
  return product.m == 1 && !product.b.k_along_stride && !product.accumulate;
}

// Float sums, rounded once; in an order of its own. `scratch`: one_row_scratch_bytes(k) where X is
// 16 bits wide, for the row as floats.
template <class X>
void run_one_row(const WidenedProductOn<X>& product, const Scratch& scratch);

constexpr std::int64_t one_row_scratch_bytes(std::int64_t k) {
  return k * static_cast<std::int64_t>(sizeof(float));
}

}  // namespace snug::cpu
