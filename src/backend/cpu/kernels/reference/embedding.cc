// Reference embedding of tokens and positions.
#include "backend/cpu/kernels/reference/kernels.h"

namespace snug::cpu::reference {

void embed(const Embed& op) noexcept {
  for (std::int64_t b = 0; b < op.B; ++b) {
    for (std::int64_t t = 0; t < op.T; ++t) {
      const float* token = op.wte + op.tokens[b * op.T + t] * op.C;
      const float* position = op.wpe + (op.first_position + t) * op.C;
      for (std::int64_t c = 0; c < op.C; ++c) {
        const double sum = static_cast<double>(token[c]) + position[c];
        op.out[(b * op.T + t) * op.C + c] =
            static_cast<float>(sum * keep_multiplier(op.dropout, b, t * op.C + c));
      }
    }
  }
}

void embed_backward(const EmbedBackward& op) noexcept {
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
        float& dout = op.dout[(b * op.T + t) * op.C + c];
        dout = static_cast<float>(dout * keep_multiplier(op.dropout, b, t * op.C + c));
        op.dwpe[t * op.C + c] += dout;
        row[c] += dout;
      }
    }
  }
}

}  // namespace snug::cpu::reference
