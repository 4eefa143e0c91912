// The table of the reference kernels.
#include "backend/cpu/kernels/reference/kernels.h"

#include "backend/cpu/kernels/reference/attention.h"

namespace snug::cpu {

const KernelTable& reference_kernels() {
  static constexpr KernelTable kTable{
      .embed = reference::embed,
      .embed_backward = reference::embed_backward,
      .layernorm_forward = reference::layernorm_forward,
      .layernorm_apply = reference::layernorm_apply,
      .layernorm_backward = reference::layernorm_backward,
      .gelu = reference::gelu,
      .gelu_backward = reference::gelu_backward,
      .residual_add = reference::residual_add,
      .dropout_backward = reference::dropout_backward,
      .bias_backward = reference::bias_backward,
      .attention = reference::attention,
      .attention_backward = reference::attention_backward,
      .attention_decode = reference::attention_decode,
      .cross_entropy = reference::cross_entropy,
      .adamw = reference::adamw,
      .adamw_bf16 = reference::adamw_bf16,
      .sum_of_squares = reference::sum_of_squares,
  };
  return kTable;
}

}  // namespace snug::cpu
