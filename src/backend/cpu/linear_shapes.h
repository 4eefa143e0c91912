// Which products a linear op consists of. Planning (scratch), preparing and running walk the same
// list, and it depends on the sequence's length only, never on how many sequences there are.
#pragma once

#include <algorithm>
#include <cstdint>

#include "backend/cpu/gemm.h"
#include "backend/cpu/split/split_product.h"
#include "program/program.h"

namespace snug::cpu {

bool is_linear(OpKind kind);

// Two ways to use the cores, whichever is faster for the op (docs/decisions/0001):
//  - y and dx of a block: short tiles of rows, each a product of one thread, many at once;
//  - weight gradients and the loss head: one product after the other, each on all threads.
struct LinearTiling {
  std::int64_t tile_rows;  // of a sequence; its last tile may be shorter
  bool one_thread;
};
LinearTiling linear_tiling(const Op& op, std::int64_t T, int threads);

// Calls fn(row, rows) for every product over rows [first, end) of sequences of T rows each.
template <typename Fn>
void for_each_tile(std::int64_t first, std::int64_t end, std::int64_t T, std::int64_t tile_rows,
                   Fn&& fn) {
  for (std::int64_t row = first; row < end;) {
    const std::int64_t in_sequence = row % T;
    const std::int64_t rows = std::min(tile_rows - in_sequence % tile_rows, T - in_sequence);
    fn(row, rows);
    row += rows;
  }
}

// Whether a linear op is one split product over all its rows instead of products of oneDNN's: on
// AMX, unless sequences are so short that packing the weight would cost more than multiplying.
bool is_split(const Op& op, std::int64_t T);
// That product over `rows` rows from `first_row` on, without its operands' addresses.
SplitProduct split_shape(const Program& program, const Op& op, std::int64_t T,
                         std::int64_t first_row, std::int64_t rows);

// Enough for any part of the op's rows.
std::int64_t planned_split_scratch(const Program& program, const Phase& phase, const Op& op,
                                   int threads);

// The product of a linear op over `rows` rows.
GemmShape linear_shape(const Program& program, const Op& op, std::int64_t rows, bool one_thread);

}  // namespace snug::cpu
