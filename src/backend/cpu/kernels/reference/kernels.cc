// The table of the reference kernels.
#include "backend/cpu/kernels/reference/kernels.h"

#include "backend/cpu/kernels/reference/attention.h"

namespace snug::cpu {
namespace reference {

template <class X>
constexpr KernelsOn<X> kernels_on() {
  return {
      .embed = embed<X>,
      .embed_backward = embed_backward<X>,
      .layernorm_forward = layernorm_forward<X>,
      .layernorm_apply = layernorm_apply<X>,
      .layernorm_backward = layernorm_backward<X>,
      .gelu = gelu<X>,
      .gelu_backward = gelu_backward<X>,
      .residual_add = residual_add<X>,
      .dropout_backward = dropout_backward<X>,
      .bias_backward = bias_backward<X>,
      .attention = attention<X>,
      .attention_backward = attention_backward<X>,
      .attention_decode = attention_decode<X>,
      .cross_entropy = cross_entropy<X>,
  };
}

}  // namespace reference

const KernelTable& reference_kernels() {
  static constexpr KernelTable kTable{
      .f32 = reference::kernels_on<float>(),
      .bf16 = reference::kernels_on<Bf16>(),
      .f16 = reference::kernels_on<F16>(),
      .adamw = reference::adamw,
      .adamw_bf16 = reference::adamw_bf16,
      .sum_of_squares = reference::sum_of_squares,
  };
  return kTable;
}

}  // namespace snug::cpu
