// Causal flash attention on vectors: tiles of scores in registers and L1, online softmax, and a
// backward pass that recomputes the probabilities from the saved log-sum-exp. Rows of kernels.h's
// table; no T x T matrix exists anywhere. Scratch sizes are declared in kernels.h.
#pragma once

#include "backend/cpu/kernels/kernels.h"

namespace snug::cpu {

// Both use omp_get_max_threads() threads at most; scratch must be sized for at least as many.
template <class X>
void attention_fast(const AttentionOn<X>& a) noexcept;
template <class X>
void attention_backward_fast(const AttentionBackwardOn<X>& a) noexcept;

template <class X>
void attention_decode_fast(const AttentionDecodeOn<X>& a) noexcept;

}  // namespace snug::cpu
