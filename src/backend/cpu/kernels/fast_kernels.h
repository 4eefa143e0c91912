// The vectorised and threaded kernels, one theme per source file; kernels.h has their contract.
// Attention is declared in attention.h.
#pragma once

#include <cstdint>

#include "backend/cpu/kernels/kernels.h"

namespace snug::cpu {

// embedding.cc
template <class X>
void embed_fast(const EmbedOn<X>& op) noexcept;
template <class X>
void embed_backward_fast(const EmbedBackwardOn<X>& op) noexcept;

// layernorm.cc, layernorm_backward.cc
template <class X>
void layernorm_forward_fast(const LayerNormOn<X>& op) noexcept;
template <class X>
void layernorm_apply_fast(const LayerNormOn<X>& op) noexcept;
template <class X>
void layernorm_backward_fast(const LayerNormBackwardOn<X>& op) noexcept;

// gelu.cc
template <class X>
void gelu_fast(const GeluOn<X>& op) noexcept;
template <class X>
void gelu_backward_fast(const GeluBackwardOn<X>& op) noexcept;

// dropout.cc
template <class X>
void residual_add_fast(const ResidualAddOn<X>& op) noexcept;
template <class X>
void dropout_backward_fast(const DropoutBackwardOn<X>& op) noexcept;

// bias.cc
template <class X>
void bias_backward_fast(const BiasBackwardOn<X>& op) noexcept;

// cross_entropy.cc
template <class X>
void cross_entropy_fast(const CrossEntropyOn<X>& op) noexcept;

// adamw.cc
void adamw_fast(const AdamW& op) noexcept;
void adamw_bf16_fast(const AdamWBf16& op) noexcept;
double sum_of_squares_fast(const float* x, std::int64_t count, double* scratch) noexcept;

}  // namespace snug::cpu
