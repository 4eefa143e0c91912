#include "backend/cpu/linear_shapes.h"

#include "base/error.h"

namespace snug::cpu {

GemmShape linear_shape(const Program& program, const Op& op, std::int64_t rows) {
  // A weight is (out, in) in all three.
  const Shape& weight =
      program.tensor(op.kind == OpKind::kLinearDw ? op.writes[0] : op.reads[1]).shape;
  const std::int64_t out = weight[0], in = weight[1];
  GemmShape shape;
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
