// Token plus position embedding, and its gradient. The backward pass reduces in the order of the
// tokens; threads share columns, so every column has one owner and one order.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/embedding.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h:
#include "backend/cpu/kernels/any_precision.h"
#include "backend/cpu/kernels/chunks.h"
#include "backend/cpu/kernels/dropout-inl.h"
#include "backend/cpu/kernels/fast_kernels.h"
#include "backend/cpu/kernels/float16-inl.h"
#include "backend/cpu/kernels/vectors-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace snug::cpu::HWY_NAMESPACE {

// Positions [begin, end) of the batch's sequence b.
template <class X>
HWY_INLINE void embed_positions_of(const EmbedOn<X>& op, std::int64_t b, std::int64_t begin,
                                   std::int64_t end) {
  const hn::ScalableTag<float> d;
  const std::int64_t lanes = lane_count(d), C = op.C;
  const DropoutStream stream = dropout_stream(op.dropout, b);
  for (std::int64_t t = begin; t < end; ++t) {
    const X* token = op.wte + op.tokens[b * op.T + t] * C;
    const X* position = op.wpe + (op.first_position + t) * C;
    X* row = op.out + (b * op.T + t) * C;
    const auto sum_at = [&](std::int64_t i, std::int64_t rest) HWY_ATTR {
      return hn::Add(load_upto(d, token + i, rest), load_upto(d, position + i, rest));
    };
    if (op.dropout.threshold == 0) {
      for (std::int64_t i = 0, rest = C; rest > 0; i += lanes, rest -= lanes) {
        store_upto(sum_at(i, rest), d, row + i, rest);
      }
      continue;
    }
    for_each_mask_tile(
        stream, t * C, C, [&](std::int64_t i, std::int64_t tile, const float* keep) HWY_ATTR {
          for (std::int64_t j = 0, rest = tile; rest > 0; j += lanes, rest -= lanes) {
            const auto kept = hn::Mul(sum_at(i + j, rest), load_upto(d, keep + j, rest));
            store_upto(kept, d, row + i + j, rest);
          }
        });
  }
}

// Elements [begin, end) of sequence b's (T, C) gradient.
template <class X>
HWY_INLINE void mask_gradient_of(const EmbedBackwardOn<X>& op, std::int64_t b, std::int64_t begin,
                                 std::int64_t end) {
  X* dout = op.dout + b * op.T * op.C + begin;
  apply_dropout(dropout_stream(op.dropout, b), begin, end - begin, dout, dout);
}

// Adds to columns [begin, end) of dwpe and rows; every token has its slot already.
template <class X>
HWY_INLINE void embed_backward_columns_of(const EmbedBackwardOn<X>& op, std::int64_t begin,
                                          std::int64_t end) {
  const std::int64_t width = end - begin;
  for (std::int64_t b = 0; b < op.B; ++b) {
    for (std::int64_t t = 0; t < op.T; ++t) {
      const X* dout = op.dout + (b * op.T + t) * op.C + begin;
      const std::int64_t slot = op.slot[op.tokens[b * op.T + t]];
      add_to(op.dwpe + t * op.C + begin, dout, width);
      add_to(op.rows + slot * op.C + begin, dout, width);
    }
  }
}

void embed_positions(AnyPrecision<EmbedOn> op, std::int64_t b, std::int64_t begin,
                     std::int64_t end) {
  std::visit([&](const auto* a) HWY_ATTR { embed_positions_of(*a, b, begin, end); }, op);
}
void mask_gradient(AnyPrecision<EmbedBackwardOn> op, std::int64_t b, std::int64_t begin,
                   std::int64_t end) {
  std::visit([&](const auto* a) HWY_ATTR { mask_gradient_of(*a, b, begin, end); }, op);
}
void embed_backward_columns(AnyPrecision<EmbedBackwardOn> op, std::int64_t begin,
                            std::int64_t end) {
  std::visit([&](const auto* a) HWY_ATTR { embed_backward_columns_of(*a, begin, end); }, op);
}

}  // namespace snug::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace snug::cpu {

HWY_EXPORT(embed_positions);
HWY_EXPORT(mask_gradient);
HWY_EXPORT(embed_backward_columns);

template <class X>
void embed_fast(const EmbedOn<X>& op) noexcept {
  const std::int64_t rows = std::max<std::int64_t>(1, kChunk / op.C);
  const std::int64_t groups = ceil_div(op.T, rows);
  for_each_range(op.B * groups, 1, std::min(op.T, rows) * op.C, [&](std::int64_t i, std::int64_t) {
    const std::int64_t begin = i % groups * rows;
    HWY_DYNAMIC_DISPATCH(embed_positions)
    (&op, i / groups, begin, std::min(op.T, begin + rows));
  });
}

// Tokens without a slot get the next ones, in order of first appearance.
template <class X>
static void assign_slots(const EmbedBackwardOn<X>& op) {
  for (std::int64_t i = 0; i < op.B * op.T; ++i) {
    const std::int32_t token = op.tokens[i];
    if (op.slot[token] >= 0) continue;
    op.slot[token] = *op.row_count;
    op.row_token[*op.row_count] = token;
    ++*op.row_count;
  }
}

template <class X>
void embed_backward_fast(const EmbedBackwardOn<X>& op) noexcept {
  assign_slots(op);
  if (op.dropout.threshold != 0) {
    for_each_sequence_chunk(op.B, op.T * op.C,
                            [&](std::int64_t b, std::int64_t begin, std::int64_t end) {
                              HWY_DYNAMIC_DISPATCH(mask_gradient)(&op, b, begin, end);
                            });
  }
  for_each_column_block(op.C, op.B * op.T, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(embed_backward_columns)(&op, begin, end);
  });
}

template void embed_fast(const EmbedOn<float>&) noexcept;
template void embed_fast(const EmbedOn<Bf16>&) noexcept;
template void embed_fast(const EmbedOn<F16>&) noexcept;
template void embed_backward_fast(const EmbedBackwardOn<float>&) noexcept;
template void embed_backward_fast(const EmbedBackwardOn<Bf16>&) noexcept;
template void embed_backward_fast(const EmbedBackwardOn<F16>&) noexcept;

}  // namespace snug::cpu
#endif  // HWY_ONCE
