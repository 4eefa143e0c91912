// Linear ops as one split or widened product or as oneDNN's products. In the loss head one operand
// (the logits) holds only the op's rows; the others hold all rows of the batch.
#include <fmt/format.h>
#include <omp.h>

#include <atomic>

#include "backend/cpu/linear.h"
#include "backend/cpu/op_run.h"
#include "backend/cpu/task_shares.h"
#include "backend/cpu/widened/one_row.h"
#include "backend/cpu/widened/tile_product.h"
#include "backend/cpu/widened/widened_product.h"
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

// Rows of a matrix, of which the first belongs to row `first` of the batch. Without a width it is
// the same for all rows.
template <class X>
struct RowsOf {
  X* data = nullptr;
  std::int64_t width = 0, first = 0;

  X* at(std::int64_t row) const { return data == nullptr ? nullptr : data + (row - first) * width; }
};

// A linear op's operands as those of a product.
template <class X>
struct LinearOperands {
  RowsOf<const X> a, b;
  const float* bias = nullptr;
  // One of these is there: 16-bit results are rounded, gradients of weights and logits that the
  // host reads are float.
  RowsOf<X> rounded;
  RowsOf<float> wide;

  void set_result(const TensorView& view, std::int64_t width, std::int64_t first) {
    if (view.dtype == DType::kF32) {
      wide = {view.f32(), width, first};
    } else {
      rounded = {view.as<X>(), width, first};
    }
  }
};

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

void run_row_by_row(const OpRun& r, const LinearOperands<float>& of) {
  auto product = widened_product<float>(gemm_shape(calls_of(r).form, 1, false));
  product.bias = of.bias;
  for (std::int64_t row = r.first_row; row < r.end_row; ++row) {
    product.a.data = of.a.at(row);
    product.b.data = of.b.at(row);
    product.c = of.wide.at(row);
    run_one_row(product, r.scratch);
  }
}

// Runs one product over all rows.
template <class X>
void run_widened(const OpRun& r, const LinearOperands<X>& of) {
  const LinearForm& form = calls_of(r).form;
  const std::int64_t rows = r.end_row - r.first_row;
  auto product = widened_product<X>(gemm_shape(form, rows, false));
  if (form.result == LinearForm::Result::kWeightGradient) {
    product.sequence = r.T(), product.offset = r.first_row % r.T();
  }
  product.a.data = of.a.at(r.first_row);
  product.b.data = of.b.at(r.first_row);
  product.bias = of.bias;
  product.y = of.rounded.at(r.first_row);
  product.c = of.wide.at(r.first_row);
  if (is_one_row(product)) return run_one_row(product, r.scratch);
  if constexpr (std::is_same_v<X, Bf16>) {
    if (const auto unit = tile_unit_of(form)) return run_tile_product(product, r.scratch, *unit);
  }
  run_widened_product(product, r.scratch);
}

// Runs an op of 16-bit operands.
template <class X>
void run_form(const OpRun& r, const LinearOperands<X>& of) {
  run_widened(r, of);
}

// In float32, by one split or widened product, by oneDNN's, or row by row.
void run_form(const OpRun& r, const LinearOperands<float>& of) {
  if (calls_of(r).row_by_row) return run_row_by_row(r, of);
  if (calls_of(r).widened) return run_widened(r, of);
  run_products(r, [&](std::int64_t row) {
    return Gemm::Operands{of.a.at(row), of.b.at(row), of.bias, of.wide.at(row), nullptr};
  });
}

}  // namespace

template <class X>
void run_linear(const OpRun& r, const ops::Linear& op) {
  LinearOperands<X> of;
  of.a = {r.data<X>(op.x), r.width(op.x), 0};
  of.b = {r.data<X>(op.weight), 0, 0};
  of.bias = r.f32(op.bias);
  of.set_result(r.view(op.y), r.width(op.y), chunk_row(r));
  run_form(r, of);
}

template <class X>
void run_linear_dx(const OpRun& r, const ops::LinearDx& op) {
  LinearOperands<X> of;
  of.a = {r.data<X>(op.dy), r.width(op.dy), chunk_row(r)};
  of.b = {r.data<X>(op.weight), 0, 0};
  of.set_result(r.view(op.dx), r.width(op.dx), 0);
  run_form(r, of);
}

template <class X>
void run_linear_dw(const OpRun& r, const ops::LinearDw& op) {
  LinearOperands<X> of;
  of.a = {r.data<X>(op.dy), r.width(op.dy), chunk_row(r)};
  of.b = {r.data<X>(op.x), r.width(op.x), 0};
  of.set_result(r.view(op.dweight), 0, 0);
  run_form(r, of);
  if (op.dbias.is_present()) {
    if (r.shapes.loop != nullptr) {
      throw InternalError(fmt::format("a bias's gradient in a loop: '{}'", r.op.label));
    }
    r.kernels().on<X>().bias_backward(
        {r.B(), r.T(), r.width(op.dy), r.data<X>(op.dy), r.f32(op.dbias)});
  }
}

template void run_linear<float>(const OpRun&, const ops::Linear&);
template void run_linear<Bf16>(const OpRun&, const ops::Linear&);
template void run_linear<F16>(const OpRun&, const ops::Linear&);
template void run_linear_dx<float>(const OpRun&, const ops::LinearDx&);
template void run_linear_dx<Bf16>(const OpRun&, const ops::LinearDx&);
template void run_linear_dx<F16>(const OpRun&, const ops::LinearDx&);
template void run_linear_dw<float>(const OpRun&, const ops::LinearDw&);
template void run_linear_dw<Bf16>(const OpRun&, const ops::LinearDw&);
template void run_linear_dw<F16>(const OpRun&, const ops::LinearDw&);

}  // namespace snug::cpu
