// Which products a linear op consists of: one per sequence, or per tile of a sequence in the loss
// head. Planning (scratch) and running walk the same list.
#pragma once

#include <algorithm>
#include <cstdint>

#include "backend/cpu/gemm.h"
#include "program/program.h"

namespace snug::cpu {

// Calls fn(row, rows) for every product over rows [first, end) of sequences of T rows each.
template <typename Fn>
void for_each_tile(std::int64_t first, std::int64_t end, std::int64_t T, std::int64_t tile_rows,
                   Fn&& fn) {
  const std::int64_t tile = tile_rows > 0 ? tile_rows : T;
  for (std::int64_t row = first; row < end;) {
    const std::int64_t in_sequence = row % T;
    const std::int64_t rows = std::min(tile - in_sequence % tile, T - in_sequence);
    fn(row, rows);
    row += rows;
  }
}

// The product of a linear op over `rows` rows.
GemmShape linear_shape(const Program& program, const Op& op, std::int64_t rows);

}  // namespace snug::cpu
