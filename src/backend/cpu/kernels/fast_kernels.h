// The vectorised and threaded kernels, one theme per source file; kernels.h has their contract.
// Attention is declared in attention.h.
#pragma once

#include <cstdint>

#include "backend/cpu/kernels/kernels.h"

namespace snug::cpu {

// embedding.cc
void embed_fast(const Embed& op) noexcept;
void embed_backward_fast(const EmbedBackward& op) noexcept;

// layernorm.cc, layernorm_backward.cc
void layernorm_forward_fast(const LayerNorm& op) noexcept;
void layernorm_apply_fast(const LayerNorm& op) noexcept;
void layernorm_backward_fast(const LayerNormBackward& op) noexcept;

// gelu.cc
void gelu_fast(const Gelu& op) noexcept;
void gelu_backward_fast(const GeluBackward& op) noexcept;

// dropout.cc
void residual_add_fast(const ResidualAdd& op) noexcept;
void dropout_backward_fast(const DropoutBackward& op) noexcept;

// bias.cc
void bias_backward_fast(const BiasBackward& op) noexcept;

// cross_entropy.cc
void cross_entropy_fast(const CrossEntropy& op) noexcept;

// adamw.cc
void adamw_fast(const AdamW& op) noexcept;
void adamw_bf16_fast(const AdamWBf16& op) noexcept;
double sum_of_squares_fast(const float* x, std::int64_t count, double* scratch) noexcept;

}  // namespace snug::cpu
