#include "backend/cuda/linear.h"

#include <fmt/format.h>

#include <algorithm>

#include "backend/cuda/op_run.h"
#include "base/error.h"

namespace snug::cuda {
namespace {

using Result = GemmShape::Result;

// The product's shape but for its rows.
GemmShape shape_of(const ops::Linear& op, const ops::Shapes& shapes) {
  return {.result = Result::kOutput,
          .rows = 0,
          .out = shapes.width(op.y),
          .in = shapes.width(op.x),
          .dtype = shapes.tensor(op.x).dtype,
          .result_dtype = shapes.tensor(op.y).dtype,
          .has_bias = op.bias.is_present(),
          .tf32 = false};
}
GemmShape shape_of(const ops::LinearDx& op, const ops::Shapes& shapes) {
  return {.result = Result::kInputGradient,
          .rows = 0,
          .out = shapes.width(op.dy),
          .in = shapes.width(op.dx),
          .dtype = shapes.tensor(op.dy).dtype,
          .result_dtype = shapes.tensor(op.dx).dtype,
          .has_bias = false,
          .tf32 = false};
}
GemmShape shape_of(const ops::LinearDw& op, const ops::Shapes& shapes) {
  return {.result = Result::kWeightGradient,
          .rows = 0,
          .out = shapes.width(op.dy),
          .in = shapes.width(op.x),
          .dtype = shapes.tensor(op.dy).dtype,
          .result_dtype = DType::kF32,
          .has_bias = false,
          .tf32 = false};
}

// Rows of one product, and of the one that ends a sequence where that is shorter.
struct RowsPerProduct {
  std::int64_t whole, last;
};
RowsPerProduct rows_per_product(const OpQuestion& q) {
  const std::int64_t T = q.shapes.block_size;
  if (const auto* linear = q.op.as<ops::Linear>(); linear && linear->row_from_context) {
    return {1, 1};
  }
  if (q.shapes.loop != nullptr) {
    const std::int64_t tile = q.shapes.loop->tile_rows, rest = T % tile;
    return {tile, rest == 0 ? tile : rest};
  }
  const std::int64_t rows = q.phase.in_iteration ? q.shapes.row_count() : T;
  return {rows, rows};
}

struct LinearCalls : Prepared {
  const Gemm *whole = nullptr, *last = nullptr;
};

const LinearCalls& calls_of(const OpRun& r) { return static_cast<const LinearCalls&>(*r.prepared); }

// The row of the batch that row 0 of the logits belongs to: of a loop's chunk, or the one that
// sampling asks for.
std::int64_t chunk_row(const OpRun& r) {
  const auto* linear = r.op.as<ops::Linear>();
  return r.shapes.loop != nullptr || (linear && linear->row_from_context) ? r.first_row : 0;
}

// start(product, its first row) for each.
template <class Start>
void for_each_product(const OpRun& r, const Start& start) {
  const LinearCalls& calls = calls_of(r);
  for (std::int64_t row = r.first_row; row < r.end_row;) {
    const std::int64_t whole = calls.whole->shape().rows;
    const bool ends_sequence = whole < r.T() && r.T() - row % r.T() < whole;
    const Gemm& gemm = ends_sequence ? *calls.last : *calls.whole;
    const std::int64_t rows = gemm.shape().rows;
    if (row + rows > r.end_row) {
      throw InternalError(fmt::format("'{}' was bound for products of {} rows and got {}",
                                      r.op.label, rows, r.end_row - row));
    }
    start(gemm, row);
    row += rows;
  }
}

std::byte* at_row(void* data, std::int64_t row, std::int64_t width, DType dtype) {
  return static_cast<std::byte*>(data) + row * width * size_of(dtype);
}

bool has_epilogue(const OpRun& r) {
  const LinearCalls& calls = calls_of(r);
  return calls.whole->shape().has_bias &&
         !(calls.whole->adds_to_bias() && calls.last->adds_to_bias());
}

// The bias as the epilogue wants it: in the result's type.
const void* bias_of(const OpRun& r, const ops::Linear& op) {
  if (!has_epilogue(r)) return nullptr;
  const DType dtype = r.dtype(op.y);
  if (dtype == DType::kF32) return r.data(op.bias);
  void* copy = r.scratch + kGemmWorkspaceBytes;
  cast(dtype, r.f32(op.bias), copy, r.width(op.y), r.stream());
  return copy;
}

}  // namespace

std::unique_ptr<Prepared> prepare_linear(const OpQuestion& q) {
  auto calls = std::make_unique<LinearCalls>();
  const RowsPerProduct rows = rows_per_product(q);
  std::visit(
      [&](const auto& definition) {
        if constexpr (requires { shape_of(definition, q.shapes); }) {
          GemmShape shape = shape_of(definition, q.shapes);
          shape.rows = rows.whole;
          calls->whole = &q.gemms.get(shape, q.op.label);
          shape.rows = rows.last;
          calls->last = &q.gemms.get(shape, q.op.label);
        }
      },
      q.op.definition);
  return calls;
}

void run_linear(const OpRun& r, const ops::Linear& op) {
  const void* bias = bias_of(r, op);
  for_each_product(r, [&](const Gemm& gemm, std::int64_t row) {
    void* const y = at_row(r.data(op.y), row - chunk_row(r), r.width(op.y), r.dtype(op.y));
    if (gemm.adds_to_bias()) {
      spread_bias({r.dtype(op.y), gemm.shape().rows, r.width(op.y), r.f32(op.bias), y}, r.stream());
    }
    gemm.run({at_row(r.data(op.x), row, r.width(op.x), r.dtype(op.x)), r.data(op.weight), bias, y,
              r.scratch},
             r.stream(), r.op.label);
  });
}

void run_linear_dx(const OpRun& r, const ops::LinearDx& op) {
  for_each_product(r, [&](const Gemm& gemm, std::int64_t row) {
    gemm.run({at_row(r.data(op.dy), row - chunk_row(r), r.width(op.dy), r.dtype(op.dy)),
              r.data(op.weight), nullptr,
              at_row(r.data(op.dx), row, r.width(op.dx), r.dtype(op.dx)), r.scratch},
             r.stream(), r.op.label);
  });
}

void run_linear_dw(const OpRun& r, const ops::LinearDw& op) {
  for_each_product(r, [&](const Gemm& gemm, std::int64_t row) {
    gemm.run({at_row(r.data(op.dy), row - chunk_row(r), r.width(op.dy), r.dtype(op.dy)),
              at_row(r.data(op.x), row, r.width(op.x), r.dtype(op.x)), nullptr, r.data(op.dweight),
              r.scratch},
             r.stream(), r.op.label);
  });
  if (!op.dbias.is_present()) return;
  if (r.shapes.loop != nullptr) {
    throw InternalError(fmt::format("a bias's gradient in a loop: '{}'", r.op.label));
  }
  bias_backward({.dtype = r.dtype(op.dy),
                 .rows = r.rows(),
                 .N = r.width(op.dy),
                 .dy = r.data(op.dy),
                 .dbias = r.f32(op.dbias),
                 .scratch = reinterpret_cast<float*>(r.scratch)},
                r.stream());
}

}  // namespace snug::cuda
