// The table of the fast kernels.
#include "backend/cpu/kernels/fast_kernels.h"

#include "backend/cpu/kernels/attention/attention.h"

namespace snug::cpu {

const KernelTable& fast_kernels() {
  static constexpr KernelTable kTable{
      .embed = embed_fast,
      .embed_backward = embed_backward_fast,
      .layernorm_forward = layernorm_forward_fast,
      .layernorm_apply = layernorm_apply_fast,
      .layernorm_backward = layernorm_backward_fast,
      .gelu = gelu_fast,
      .gelu_backward = gelu_backward_fast,
      .residual_add = residual_add_fast,
      .dropout_backward = dropout_backward_fast,
      .bias_backward = bias_backward_fast,
      .attention = attention_fast,
      .attention_backward = attention_backward_fast,
      .attention_decode = attention_decode_fast,
      .cross_entropy = cross_entropy_fast,
      .adamw = adamw_fast,
      .adamw_bf16 = adamw_bf16_fast,
      .sum_of_squares = sum_of_squares_fast,
  };
  return kTable;
}

}  // namespace snug::cpu
