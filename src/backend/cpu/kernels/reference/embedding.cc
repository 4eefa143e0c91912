// Reference embedding of tokens and positions.
#include "backend/cpu/kernels/reference/kernels.h"

namespace snug::cpu::reference {

template <class X>
void embed(const EmbedOn<X>& op) noexcept {
  for (std::int64_t b = 0; b < op.B; ++b) {
    for (std::int64_t t = 0; t < op.T; ++t) {
      const X* token = op.wte + op.tokens[b * op.T + t] * op.C;
      const X* position = op.wpe + (op.first_position + t) * op.C;
      for (std::int64_t c = 0; c < op.C; ++c) {
        const double sum = value_of(token[c]) + value_of(position[c]);
        set_nearest(op.out[(b * op.T + t) * op.C + c],
                    sum * keep_multiplier(op.dropout, b, t * op.C + c));
      }
    }
  }
}

template <class X>
void embed_backward(const EmbedBackwardOn<X>& op) noexcept {
  for (std::int64_t b = 0; b < op.B; ++b) {
    for (std::int64_t t = 0; t < op.T; ++t) {
      const std::int32_t token = op.tokens[b * op.T + t];
      if (op.slot[token] < 0) {
        op.slot[token] = *op.row_count;
        op.row_token[*op.row_count] = token;
        ++*op.row_count;
      }
      float* row = op.rows + op.slot[token] * op.C;
      for (std::int64_t c = 0; c < op.C; ++c) {
        X& dout = op.dout[(b * op.T + t) * op.C + c];
        set_nearest(dout, value_of(dout) * keep_multiplier(op.dropout, b, t * op.C + c));
        op.dwpe[t * op.C + c] += to_float(dout);
        row[c] += to_float(dout);
      }
    }
  }
}

template void embed(const EmbedOn<float>&) noexcept;
template void embed(const EmbedOn<Bf16>&) noexcept;
template void embed(const EmbedOn<F16>&) noexcept;
template void embed_backward(const EmbedBackwardOn<float>&) noexcept;
template void embed_backward(const EmbedBackwardOn<Bf16>&) noexcept;
template void embed_backward(const EmbedBackwardOn<F16>&) noexcept;

}  // namespace snug::cpu::reference
