// The plain kernels: serial, one element after the other, sums in double. They state what each
// kernel means and are the oracle of the fast ones; kernels.h has the contract. Attention is
// declared in reference/attention.h.
#pragma once

#include <cstdint>

#include "backend/cpu/kernels/kernels.h"

namespace snug::cpu::reference {

// The multiplier of one element: scale, 0, or 1 when dropout is off. In elementwise.cc.
double keep_multiplier(const Dropout& dropout, std::int64_t sequence_in_batch,
                       std::int64_t element) noexcept;

// embedding.cc
void embed(const Embed& op) noexcept;
void embed_backward(const EmbedBackward& op) noexcept;

// norm.cc
void layernorm_forward(const LayerNorm& op) noexcept;
void layernorm_apply(const LayerNorm& op) noexcept;
void layernorm_backward(const LayerNormBackward& op) noexcept;

// elementwise.cc
void gelu(const Gelu& op) noexcept;
void gelu_backward(const GeluBackward& op) noexcept;
void residual_add(const ResidualAdd& op) noexcept;
void dropout_backward(const DropoutBackward& op) noexcept;
void bias_backward(const BiasBackward& op) noexcept;

// loss.cc
void cross_entropy(const CrossEntropy& op) noexcept;

// adamw.cc
void adamw(const AdamW& op) noexcept;
void adamw_bf16(const AdamWBf16& op) noexcept;
double sum_of_squares(const float* x, std::int64_t count, double* scratch) noexcept;

}  // namespace snug::cpu::reference
