// Which products a linear op consists of, and their scratch, preparation and running. All three
// walk the same list, and it depends on the sequence's length only, never on how many sequences
// there are.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "backend/cpu/op_rows.h"
#include "backend/cpu/split/split_product.h"
#include "backend/cpu/widened/tile_product.h"

namespace snug::cpu {

// What the three linear ops have in common.
struct LinearForm {
  enum class Result { kOutput, kInputGradient, kWeightGradient };

  Result result = Result::kOutput;
  DType precision = DType::kF32;  // of what is multiplied
  std::int64_t out = 0, in = 0;   // of the weight
  bool has_bias = false;
  std::int64_t tile_rows = 0;  // 0: the whole sequence
  bool is_one_row = false;     // of the sequence, whichever the context names
};
LinearForm form_of(const ops::Linear& op, const ops::Shapes& shapes);
LinearForm form_of(const ops::LinearDx& op, const ops::Shapes& shapes);
LinearForm form_of(const ops::LinearDw& op, const ops::Shapes& shapes);
// Nothing for any other op.
std::optional<LinearForm> linear_form(const ops::Op& op, const ops::Shapes& shapes);

// Two ways to use the cores, whichever is faster for the op (docs/decisions/0001):
//  - y and dx of a block: short tiles of rows, each a product of one thread, many at once;
//  - weight gradients and the loss head: one product after the other, each on all threads.
struct LinearTiling {
  std::int64_t tile_rows;  // of a sequence; its last tile may be shorter
  bool one_thread;
};
LinearTiling linear_tiling(const LinearForm& form, std::int64_t T, int threads);

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
bool is_split(const LinearForm& form, std::int64_t T);
// Whether each of its rows is multiplied alone, by dot products, as sampling does: one_row.h.
bool is_row_by_row(const LinearForm& form, std::int64_t T);
// Whether it is one product over all its rows, which is widened or by a unit that multiplies
// bfloat16: of 16-bit operands, and, without AVX-512, weight gradients of short sequences, for
// which oneDNN's products would be one after the other, each of a few rows and with a barrier at
// its end.
bool is_widened(const LinearForm& form, std::int64_t T);
std::optional<TileUnit> tile_unit_of(const LinearForm& form);
// That product over `rows` rows from `first_row` on, without its operands' addresses.
SplitProduct split_shape(const LinearForm& form, std::int64_t T, std::int64_t first_row,
                         std::int64_t rows);

// The product of a linear op over `rows` rows.
GemmShape gemm_shape(const LinearForm& form, std::int64_t rows, bool one_thread);

// oneDNN's products of an op that is neither split nor widened nor multiplied row by row.
template <typename Visit>
void for_each_gemm(GemmCache& gemms, const LinearForm& form, std::int64_t T, int threads,
                   const Visit& visit) {
  const LinearTiling tiling = linear_tiling(form, T, threads);
  for_each_tile(0, T, T, tiling.tile_rows, [&](std::int64_t row, std::int64_t rows) {
    visit(gemms.get(gemm_shape(form, rows, tiling.one_thread)), row);
  });
}

// The prepared products of a linear op: one split or widened product, one per row, or oneDNN's of a
// whole tile and of a sequence's shorter last one.
struct LinearCalls : Prepared {
  LinearForm form{};
  bool split = false, row_by_row = false, widened = false;
  LinearTiling tiling{};
  const Gemm* whole = nullptr;
  const Gemm* last = nullptr;
};

// Enough for any part of the op's rows.
std::int64_t linear_scratch(const OpQuestion& question, const LinearForm& form);
std::unique_ptr<Prepared> prepare_linear(const OpQuestion& question, const LinearForm& form);

// X is what is multiplied: float, Bf16 or F16.
template <class X>
void run_linear(const OpRun& run, const ops::Linear& op);
template <class X>
void run_linear_dx(const OpRun& run, const ops::LinearDx& op);
template <class X>
void run_linear_dw(const OpRun& run, const ops::LinearDw& op);

}  // namespace snug::cpu
