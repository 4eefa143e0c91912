// The plain kernels, on activations of float, Bf16 and F16: serial, one element after the other,
// sums in double. They state what each kernel means and are the oracle of the fast ones; kernels.h
// has the contract. Attention is declared in reference/attention.h.
#pragma once

#include <cstdint>

#include "backend/cpu/kernels/kernels.h"

namespace snug::cpu::reference {

// An element as a number, and a number as the nearest element.
template <class X>
double value_of(X x) noexcept {
  return static_cast<double>(to_float(x));
}
template <class X>
void set_nearest(X& x, double value) noexcept {
  x = nearest<X>(static_cast<float>(value));
}

// The multiplier of one element: scale, 0, or 1 when dropout is off. In elementwise.cc.
double keep_multiplier(const Dropout& dropout, std::int64_t sequence_in_batch,
                       std::int64_t element) noexcept;

// embedding.cc
template <class X>
void embed(const EmbedOn<X>& op) noexcept;
template <class X>
void embed_backward(const EmbedBackwardOn<X>& op) noexcept;

// norm.cc
template <class X>
void layernorm_forward(const LayerNormOn<X>& op) noexcept;
template <class X>
void layernorm_apply(const LayerNormOn<X>& op) noexcept;
template <class X>
void layernorm_backward(const LayerNormBackwardOn<X>& op) noexcept;

// elementwise.cc
template <class X>
void gelu(const GeluOn<X>& op) noexcept;
template <class X>
void gelu_backward(const GeluBackwardOn<X>& op) noexcept;
template <class X>
void residual_add(const ResidualAddOn<X>& op) noexcept;
template <class X>
void dropout_backward(const DropoutBackwardOn<X>& op) noexcept;
template <class X>
void bias_backward(const BiasBackwardOn<X>& op) noexcept;

// loss.cc
template <class X>
void cross_entropy(const CrossEntropyOn<X>& op) noexcept;

// adamw.cc
void adamw(const AdamW& op) noexcept;
void adamw_bf16(const AdamWBf16& op) noexcept;
double sum_of_squares(const float* x, std::int64_t count, double* scratch) noexcept;

}  // namespace snug::cpu::reference
