#include "backend/cpu/linear.h"

#include <dnnl.hpp>

#include "backend/cpu/split/amx.h"
#include "backend/cpu/widened/one_row.h"
#include "backend/cpu/widened/widened_product.h"
#include "base/integers.h"

namespace snug::cpu {

using Result = LinearForm::Result;

LinearForm form_of(const ops::Linear& op, const ops::Shapes& shapes) {
  const Shape& weight = shapes.shape(op.weight);
  return {.result = Result::kOutput,
          .precision = shapes.tensor(op.x).dtype,
          .out = weight[0],
          .in = weight[1],
          .has_bias = op.bias.is_present(),
          .tile_rows = op.tile_rows,
          .is_one_row = op.row_from_context};
}

LinearForm form_of(const ops::LinearDx& op, const ops::Shapes& shapes) {
  const Shape& weight = shapes.shape(op.weight);
  return {.result = Result::kInputGradient,
          .precision = shapes.tensor(op.dy).dtype,
          .out = weight[0],
          .in = weight[1],
          .tile_rows = op.tile_rows};
}

LinearForm form_of(const ops::LinearDw& op, const ops::Shapes& shapes) {
  const Shape& weight = shapes.shape(op.dweight);
  return {.result = Result::kWeightGradient,
          .precision = shapes.tensor(op.dy).dtype,
          .out = weight[0],
          .in = weight[1],
          .tile_rows = op.tile_rows};
}

std::optional<LinearForm> linear_form(const ops::Op& op, const ops::Shapes& shapes) {
  return std::visit(
      [&](const auto& definition) -> std::optional<LinearForm> {
        if constexpr (requires { form_of(definition, shapes); }) {
          return form_of(definition, shapes);
        } else {
          return std::nullopt;
        }
      },
      op.definition);
}

LinearTiling linear_tiling(const LinearForm& form, std::int64_t T, int threads) {
  if (form.tile_rows > 0) return {form.tile_rows, false};
  if (form.result == Result::kWeightGradient || T == 1) return {T, false};
  // Enough tiles in one sequence for all threads, but none so short that a product pays more for
  // bringing the weight into its own layout than for multiplying.
  constexpr std::int64_t kShortest = 64;
  const std::int64_t kLongest = form.result == Result::kInputGradient ? 512 : 256;
  const std::int64_t share = ceil_div(T, threads);
  return {std::clamp(round_up(share, 16), std::min(T, kShortest), std::min(T, kLongest)), true};
}

bool is_split(const LinearForm& form, std::int64_t T) {
  constexpr std::int64_t kShortest = 32;
  return form.precision == DType::kF32 && T >= kShortest && !form.is_one_row && amx_usable();
}

bool is_row_by_row(const LinearForm& form, std::int64_t T) {
  return form.precision == DType::kF32 && form.result == Result::kOutput &&
         (T == 1 || form.is_one_row);
}

// Whether oneDNN has kernels that it makes for the shape of a product (brgemm).
static bool has_avx512() {
  const auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  return (isa & dnnl_cpu_isa_avx512_core) == dnnl_cpu_isa_avx512_core;
}

bool is_widened(const LinearForm& form, std::int64_t T) {
  if (form.precision != DType::kF32) return true;
  constexpr std::int64_t kLongest = 256;  // of more positions oneDNN's is the faster one (0037)
  return form.result == Result::kWeightGradient && T <= kLongest && !is_split(form, T) &&
         !has_avx512();
}

std::optional<TileUnit> tile_unit_of(const LinearForm& form) {
  return form.precision == DType::kBF16 ? tile_unit() : std::nullopt;
}

SplitProduct split_shape(const LinearForm& form, std::int64_t T, std::int64_t first_row,
                         std::int64_t rows) {
  SplitProduct product = split_product(gemm_shape(form, rows, false));
  if (form.result == Result::kWeightGradient) product.sequence = T, product.offset = first_row % T;
  return product;
}

GemmShape gemm_shape(const LinearForm& form, std::int64_t rows, bool one_thread) {
  GemmShape shape;
  shape.one_thread = one_thread;
  switch (form.result) {
    case Result::kOutput:  // y (rows, out) = x (rows, in) * weight^T + bias
      shape.m = rows, shape.n = form.out, shape.k = form.in;
      shape.transpose_b = true;
      shape.bias = form.has_bias;
      break;
    case Result::kInputGradient:  // dx (rows, in) = dy (rows, out) * weight
      shape.m = rows, shape.n = form.in, shape.k = form.out;
      break;
    case Result::kWeightGradient:  // dweight (out, in) += dy^T * x
      shape.m = form.out, shape.n = form.in, shape.k = rows;
      shape.transpose_a = true;
      shape.accumulate = true;
      break;
  }
  return shape;
}

// The maximum number of rows that one product gets.
static std::int64_t rows_at_once(const ops::Shapes& shapes, const LinearForm& form) {
  const std::int64_t all = form.is_one_row ? 1 : shapes.row_count();
  return shapes.loop != nullptr ? std::min(shapes.loop->chunk_rows, all) : all;
}

std::int64_t linear_scratch(const OpQuestion& question, const LinearForm& form) {
  const ops::Shapes& shapes = question.shapes;
  const std::int64_t rows = rows_at_once(shapes, form);
  const bool has_rows = form.precision != DType::kF32 && form.result == Result::kOutput;
  const std::int64_t row_bytes = has_rows ? one_row_scratch_bytes(form.in) : 0;
  if (has_rows && rows == 1) return row_bytes;
  if (const auto unit = tile_unit_of(form)) {
    auto product = widened_product<Bf16>(gemm_shape(form, rows, false));
    if (form.result == Result::kWeightGradient) product.sequence = shapes.block_size;
    return std::max(row_bytes, tile_scratch_bytes(product, question.threads, *unit));
  }
  if (is_widened(form, shapes.block_size)) {
    const GemmShape shape = gemm_shape(form, rows, false);
    return std::max(row_bytes, widened_scratch_bytes(shape.m, shape.n, question.threads));
  }
  if (is_split(form, shapes.block_size)) {
    return split_scratch_bytes(split_shape(form, shapes.block_size, 0, rows), question.threads);
  }
  if (is_row_by_row(form, shapes.block_size)) return 0;
  std::int64_t bytes = 0;
  for_each_gemm(question.gemms, form, shapes.block_size, question.threads,
                [&](const Gemm& gemm, std::int64_t) {
                  const int slots = gemm.shape().one_thread ? question.threads : 1;
                  bytes = std::max(bytes, gemm.scratch_bytes() * slots);
                });
  return bytes;
}

std::unique_ptr<Prepared> prepare_linear(const OpQuestion& question, const LinearForm& form) {
  const std::int64_t T = question.shapes.block_size;
  auto calls = std::make_unique<LinearCalls>();
  calls->form = form;
  calls->split = is_split(form, T);
  calls->row_by_row = is_row_by_row(form, T);
  calls->widened = is_widened(form, T);
  if (calls->split || calls->row_by_row || calls->widened) return calls;
  calls->tiling = linear_tiling(form, T, question.threads);
  for_each_gemm(question.gemms, form, T, question.threads, [&](Gemm& gemm, std::int64_t row) {
    gemm.prepare(calls->tiling.one_thread ? question.threads : 1);
    (row == 0 ? calls->whole : calls->last) = &gemm;
  });
  return calls;
}

}  // namespace snug::cpu
