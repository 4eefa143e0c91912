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

// Needs no scratch. Float sums, rounded once; in an order of its own.
template <class X>
void run_one_row(const WidenedProductOn<X>& product);

}  // namespace snug::cpu
