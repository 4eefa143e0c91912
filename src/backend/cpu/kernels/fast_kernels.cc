// The table of the fast kernels.
#include "backend/cpu/kernels/fast_kernels.h"

#include "backend/cpu/kernels/attention/attention.h"

namespace snug::cpu {
namespace {

template <class X>
constexpr KernelsOn<X> kernels_on() {
  return {
      .embed = embed_fast<X>,
      .embed_backward = embed_backward_fast<X>,
      .layernorm_forward = layernorm_forward_fast<X>,
      .layernorm_apply = layernorm_apply_fast<X>,
      .layernorm_backward = layernorm_backward_fast<X>,
      .gelu = gelu_fast<X>,
      .gelu_backward = gelu_backward_fast<X>,
      .residual_add = residual_add_fast<X>,
      .dropout_backward = dropout_backward_fast<X>,
      .bias_backward = bias_backward_fast<X>,
      .attention = attention_fast<X>,
      .attention_backward = attention_backward_fast<X>,
      .attention_decode = attention_decode_fast<X>,
      .cross_entropy = cross_entropy_fast<X>,
  };
}

}  // namespace

const KernelTable& fast_kernels() {
  static constexpr KernelTable kTable{
      .f32 = kernels_on<float>(),
      .bf16 = kernels_on<Bf16>(),
      .f16 = kernels_on<F16>(),
      .adamw = adamw_fast,
      .adamw_bf16 = adamw_bf16_fast,
      .sum_of_squares = sum_of_squares_fast,
  };
  return kTable;
}

}  // namespace snug::cpu
