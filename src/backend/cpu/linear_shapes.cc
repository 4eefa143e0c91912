#include "backend/cpu/linear_shapes.h"

#include "backend/cpu/split/amx.h"
#include "base/error.h"

namespace snug::cpu {

bool is_linear(OpKind kind) {
  return kind == OpKind::kLinear || kind == OpKind::kLinearDx || kind == OpKind::kLinearDw;
}

LinearTiling linear_tiling(const Op& op, std::int64_t T, int threads) {
  if (op.tile_rows > 0) return {op.tile_rows, false};
  if (op.kind == OpKind::kLinearDw || T == 1) return {T, false};
  // Enough tiles in one sequence for all threads, but none so short that a product pays more for
  // bringing the weight into its own layout than for multiplying.
  constexpr std::int64_t kShortest = 64, kLongest = 256;
  const std::int64_t share = (T + threads - 1) / threads;
  return {std::clamp((share + 15) / 16 * 16, std::min(T, kShortest), std::min(T, kLongest)), true};
}

bool is_split(const Op& op, std::int64_t T) {
  constexpr std::int64_t kShortest = 32;
  return T >= kShortest && !op.row_from_context && amx_usable();
}

SplitProduct split_shape(const Program& program, const Op& op, std::int64_t T,
                         std::int64_t first_row, std::int64_t rows) {
  SplitProduct product = split_product(linear_shape(program, op, rows, false));
  if (op.kind == OpKind::kLinearDw) product.sequence = T, product.offset = first_row % T;
  return product;
}

std::int64_t planned_split_scratch(const Program& program, const Phase& phase, const Op& op,
                                   int threads) {
  const std::int64_t all = phase.batch_size * phase.block_size;
  const std::int64_t rows = op.chunk_rows > 0 ? std::min(op.chunk_rows, all) : all;
  return split_scratch_bytes(split_shape(program, op, phase.block_size, 0, rows), threads);
}

GemmShape linear_shape(const Program& program, const Op& op, std::int64_t rows, bool one_thread) {
  // A weight is (out, in) in all three.
  const Shape& weight =
      program.tensor(op.kind == OpKind::kLinearDw ? op.writes[0] : op.reads[1]).shape;
  const std::int64_t out = weight[0], in = weight[1];
  GemmShape shape;
  shape.one_thread = one_thread;
  switch (op.kind) {
    case OpKind::kLinear:  // y (rows, out) = x (rows, in) * weight^T + bias
      shape.m = rows, shape.n = out, shape.k = in;
      shape.transpose_b = true;
      shape.bias = op.reads[2] != kNoTensor;
      return shape;
    case OpKind::kLinearDx:  // dx (rows, in) = dy (rows, out) * weight
      shape.m = rows, shape.n = in, shape.k = out;
      return shape;
    case OpKind::kLinearDw:  // dweight (out, in) += dy^T * x
      shape.m = out, shape.n = in, shape.k = rows;
      shape.transpose_a = true;
      shape.accumulate = true;
      return shape;
    default:
      throw InternalError("not a linear op: " + op.label);
  }
}

}  // namespace snug::cpu
