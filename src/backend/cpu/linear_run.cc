// Linear ops as one split product or as oneDNN's products. In the loss head one operand (the
// logits) holds only the op's rows; the others hold all rows of the batch.
#include <fmt/format.h>
#include <omp.h>

#include <atomic>

#include "backend/cpu/linear.h"
#include "backend/cpu/op_run.h"
#include "backend/cpu/task_shares.h"
#include "base/error.h"
#include "base/integers.h"

namespace snug::cpu {
namespace {

void require(bool succeeded, const OpRun& r) {
  if (!succeeded) throw DeviceError(fmt::format("oneDNN failed in '{}'", r.op.label));
}

const LinearCalls& calls_of(const OpRun& r) { return static_cast<const LinearCalls&>(*r.prepared); }

// The row of the batch that row 0 of the logits belongs to: of a loop's chunk, or the one that
// sampling asks for.
std::int64_t chunk_row(const OpRun& r) {
  return r.shapes.loop != nullptr || calls_of(r).form.is_one_row ? r.first_row : 0;
}

const Gemm& product_of(const OpRun& r, std::int64_t row, std::int64_t rows) {
  const LinearCalls& calls = calls_of(r);
  const bool first_of_sequence = row % r.T() == 0;
  return first_of_sequence || rows == calls.tiling.tile_rows ? *calls.whole : *calls.last;
}

// One product after the other, each on all threads.
template <typename OperandsOf>
void run_in_order(const OpRun& r, const OperandsOf& operands_of) {
  bool succeeded = true;
  for_each_tile(r.first_row, r.end_row, r.T(), calls_of(r).tiling.tile_rows,
                [&](std::int64_t row, std::int64_t rows) {
                  Gemm::Operands operands = operands_of(row);
                  operands.scratch = r.scratch.data;
                  succeeded = succeeded && product_of(r, row, rows).run(operands);
                });
  require(succeeded, r);
}

// Products of one thread each, on whichever thread is free. Which one that is changes nothing.
template <typename OperandsOf>
void run_side_by_side(const OpRun& r, const OperandsOf& operands_of) {
  const std::int64_t tile = calls_of(r).tiling.tile_rows;
  const std::int64_t per_sequence = ceil_div(r.T(), tile);
  std::atomic<bool> succeeded{true};
  share_tasks(r.B() * per_sequence, [&](std::int64_t i) {
    const std::int64_t in_sequence = i % per_sequence * tile;
    const std::int64_t row = i / per_sequence * r.T() + in_sequence;
    const int slot = omp_get_thread_num();
    Gemm::Operands operands = operands_of(row);
    operands.scratch = r.scratch.part(slot, r.threads);
    const std::int64_t rows = std::min(tile, r.T() - in_sequence);
    if (!product_of(r, row, rows).run(operands, slot)) succeeded = false;
  });
  require(succeeded, r);
}

void run_split(const OpRun& r, const Gemm::Operands& operands) {
  SplitProduct product = split_shape(calls_of(r).form, r.T(), r.first_row, r.end_row - r.first_row);
  product.a.data = operands.a;
  product.b.data = operands.b;
  product.bias = operands.bias;
  product.c = operands.c;
  if (!run_split_product(product, r.scratch)) {
    throw DeviceError(fmt::format("'{}' got fewer threads than it was planned for", r.op.label));
  }
}

// operands_of(row) are those of the product that starts there.
template <typename OperandsOf>
void run_products(const OpRun& r, const OperandsOf& operands_of) {
  if (calls_of(r).split) return run_split(r, operands_of(r.first_row));
  calls_of(r).tiling.one_thread ? run_side_by_side(r, operands_of) : run_in_order(r, operands_of);
}

}  // namespace

void run_linear(const OpRun& r, const ops::Linear& op) {
  const float *x = r.f32(op.x), *weight = r.f32(op.weight), *bias = r.f32(op.bias);
  float* y = r.f32(op.y);
  const std::int64_t in = r.width(op.x), out = r.width(op.y);
  run_products(r, [&](std::int64_t row) {
    return Gemm::Operands{x + row * in, weight, bias, y + (row - chunk_row(r)) * out, nullptr};
  });
}

void run_linear_dx(const OpRun& r, const ops::LinearDx& op) {
  const float *dy = r.f32(op.dy), *weight = r.f32(op.weight);
  float* dx = r.f32(op.dx);
  const std::int64_t out = r.width(op.dy), in = r.width(op.dx);
  run_products(r, [&](std::int64_t row) {
    return Gemm::Operands{dy + (row - chunk_row(r)) * out, weight, nullptr, dx + row * in, nullptr};
  });
}

void run_linear_dw(const OpRun& r, const ops::LinearDw& op) {
  const float *dy = r.f32(op.dy), *x = r.f32(op.x);
  float* dweight = r.f32(op.dweight);
  const std::int64_t out = r.width(op.dy), in = r.width(op.x);
  run_products(r, [&](std::int64_t row) {
    return Gemm::Operands{dy + (row - chunk_row(r)) * out, x + row * in, nullptr, dweight, nullptr};
  });
  if (op.dbias.is_present()) {
    if (r.shapes.loop != nullptr) {
      throw InternalError(fmt::format("a bias's gradient in a loop: '{}'", r.op.label));
    }
    r.kernels().bias_backward({r.B(), r.T(), out, dy, r.f32(op.dbias)});
  }
}

}  // namespace snug::cpu
