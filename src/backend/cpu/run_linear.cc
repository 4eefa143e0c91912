// Linear ops as one split product or as oneDNN's products. In the loss head one operand (the
// logits) holds only the op's rows; the others hold all rows of the batch.
#include <fmt/format.h>
#include <omp.h>

#include <atomic>

#include "backend/cpu/op_run.h"
#include "backend/cpu/task_shares.h"
#include "base/error.h"

namespace snug::cpu {
namespace {

void require(bool succeeded, const OpRun& r) {
  if (!succeeded) throw DeviceError(fmt::format("oneDNN failed in '{}'", r.op.label));
}

const Gemm& product_of(const OpRun& r, std::int64_t row, std::int64_t rows) {
  const bool first_of_sequence = row % r.T() == 0;
  return first_of_sequence || rows == r.linear.tiling.tile_rows ? *r.linear.whole : *r.linear.last;
}

// One product after the other, each on all threads.
template <typename OperandsOf>
void run_in_order(const OpRun& r, const OperandsOf& operands_of) {
  bool succeeded = true;
  for_each_tile(r.first_row, r.end_row, r.T(), r.linear.tiling.tile_rows,
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
  const std::int64_t tile = r.linear.tiling.tile_rows;
  const std::int64_t per_sequence = (r.T() + tile - 1) / tile;
  std::atomic<bool> succeeded{true};
  share_tasks(r.B() * per_sequence, [&](std::int64_t i) {
    const std::int64_t in_sequence = i % per_sequence * tile;
    const std::int64_t row = i / per_sequence * r.T() + in_sequence;
    const int slot = omp_get_thread_num();
    Gemm::Operands operands = operands_of(row);
    operands.scratch = r.scratch.part(slot, r.program().threads);
    const std::int64_t rows = std::min(tile, r.T() - in_sequence);
    if (!product_of(r, row, rows).run(operands, slot)) succeeded = false;
  });
  require(succeeded, r);
}

void run_split(const OpRun& r, const Gemm::Operands& operands) {
  SplitProduct product =
      split_shape(r.program(), r.op, r.T(), r.first_row, r.end_row - r.first_row);
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
  if (r.linear.split) return run_split(r, operands_of(r.first_row));
  r.linear.tiling.one_thread ? run_side_by_side(r, operands_of) : run_in_order(r, operands_of);
}

}  // namespace

void run_linear(const OpRun& r) {
  const std::int64_t in = r.width(r.op.reads[0]), out = r.width(r.op.writes[0]);
  run_products(r, [&](std::int64_t row) {
    return Gemm::Operands{r.read(0) + row * in, r.read(1), r.read(2),
                          r.write(0) + (row - r.logits_row()) * out, nullptr};
  });
}

void run_linear_dx(const OpRun& r) {
  const std::int64_t out = r.width(r.op.reads[0]), in = r.width(r.op.writes[0]);
  run_products(r, [&](std::int64_t row) {
    return Gemm::Operands{r.read(0) + (row - r.logits_row()) * out, r.read(1), nullptr,
                          r.write(0) + row * in, nullptr};
  });
}

void run_linear_dw(const OpRun& r) {
  const std::int64_t out = r.width(r.op.reads[0]), in = r.width(r.op.reads[1]);
  run_products(r, [&](std::int64_t row) {
    return Gemm::Operands{r.read(0) + (row - r.logits_row()) * out, r.read(1) + row * in, nullptr,
                          r.write(0), nullptr};
  });
  if (r.write(1) != nullptr) {
    r.kernels().bias_backward({r.B(), r.T(), out, r.read(0), r.write(1)});
  }
}

}  // namespace snug::cpu
