// Token plus position embedding, and its gradient. The backward pass reduces in the order of the
// tokens; threads share columns, so every column has one owner and one order.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/embedding.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h:
#include "backend/cpu/kernels/chunks.h"
#include "backend/cpu/kernels/dropout-inl.h"
#include "backend/cpu/kernels/fast_kernels.h"
#include "backend/cpu/kernels/vectors-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace snug::cpu::HWY_NAMESPACE {

// Positions [begin, end) of the batch's sequence b.
void embed_positions(const Embed& op, std::int64_t b, std::int64_t begin, std::int64_t end) {
  const hn::ScalableTag<float> d;
  const std::int64_t lanes = lane_count(d), C = op.C;
  float* out = op.out + (b * op.T + begin) * C;
  for (std::int64_t t = begin; t < end; ++t) {
    const float* token = op.wte + op.tokens[b * op.T + t] * C;
    const float* position = op.wpe + (op.first_position + t) * C;
    float* row = out + (t - begin) * C;
    for (std::int64_t i = 0, rest = C; rest > 0; i += lanes, rest -= lanes) {
      const auto sum = hn::Add(load_upto(d, token + i, rest), load_upto(d, position + i, rest));
      store_upto(sum, d, row + i, rest);
    }
  }
  if (op.dropout.threshold != 0) {
    apply_dropout(dropout_stream(op.dropout, b), begin * C, (end - begin) * C, out, out);
  }
}

// Elements [begin, end) of sequence b's (T, C) gradient.
void mask_gradient(const EmbedBackward& op, std::int64_t b, std::int64_t begin, std::int64_t end) {
  float* dout = op.dout + b * op.T * op.C + begin;
  apply_dropout(dropout_stream(op.dropout, b), begin, end - begin, dout, dout);
}

// Adds to columns [begin, end) of dwpe and rows; every token has its slot already.
void embed_backward_columns(const EmbedBackward& op, std::int64_t begin, std::int64_t end) {
  const std::int64_t width = end - begin;
  for (std::int64_t b = 0; b < op.B; ++b) {
    for (std::int64_t t = 0; t < op.T; ++t) {
      const float* dout = op.dout + (b * op.T + t) * op.C + begin;
      const std::int64_t slot = op.slot[op.tokens[b * op.T + t]];
      add_to(op.dwpe + t * op.C + begin, dout, width);
      add_to(op.rows + slot * op.C + begin, dout, width);
    }
  }
}

}  // namespace snug::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace snug::cpu {

HWY_EXPORT(embed_positions);
HWY_EXPORT(mask_gradient);
HWY_EXPORT(embed_backward_columns);

void embed_fast(const Embed& op) noexcept {
  const std::int64_t rows = std::max<std::int64_t>(1, kChunk / op.C);
  const std::int64_t groups = ceil_div(op.T, rows);
  for_each_range(op.B * groups, 1, std::min(op.T, rows) * op.C, [&](std::int64_t i, std::int64_t) {
    const std::int64_t begin = i % groups * rows;
    HWY_DYNAMIC_DISPATCH(embed_positions)
    (op, i / groups, begin, std::min(op.T, begin + rows));
  });
}

// Tokens without a slot get the next ones, in order of first appearance.
static void assign_slots(const EmbedBackward& op) {
  for (std::int64_t i = 0; i < op.B * op.T; ++i) {
    const std::int32_t token = op.tokens[i];
    if (op.slot[token] >= 0) continue;
    op.slot[token] = *op.row_count;
    op.row_token[*op.row_count] = token;
    ++*op.row_count;
  }
}

void embed_backward_fast(const EmbedBackward& op) noexcept {
  assign_slots(op);
  if (op.dropout.threshold != 0) {
    for_each_sequence_chunk(op.B, op.T * op.C,
                            [&](std::int64_t b, std::int64_t begin, std::int64_t end) {
                              HWY_DYNAMIC_DISPATCH(mask_gradient)(op, b, begin, end);
                            });
  }
  for_each_column_block(op.C, op.B * op.T, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(embed_backward_columns)(op, begin, end);
  });
}

}  // namespace snug::cpu
#endif  // HWY_ONCE
