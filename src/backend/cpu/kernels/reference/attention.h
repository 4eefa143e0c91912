// The oracle of attention: plain, serial, in double. The float kernels below convert at the border;
// the one-head functions are exposed so that finite differences can check them in double.
#pragma once

#include <cstdint>

#include "backend/cpu/kernels/kernels.h"

namespace snug::cpu::reference {

template <class X>
void attention(const AttentionOn<X>& a) noexcept;
template <class X>
void attention_backward(const AttentionBackwardOn<X>& a) noexcept;
template <class X>
void attention_decode(const AttentionDecodeOn<X>& a) noexcept;

// One head of one sequence.
struct Head {
  std::int64_t T, D;
  const double* q;            // (T, D)
  const double* k;            // (T, D)
  const double* v;            // (T, D)
  const double* multipliers;  // (T, T), dropout on the probabilities: 0 or scale; null = no dropout
};

void head_forward(const Head& head, double* out /* (T, D) */, double* lse /* (T) */);

struct HeadGradients {
  double* dq;  // (T, D), written
  double* dk;
  double* dv;
};

void head_backward(const Head& head, const double* out, const double* lse, const double* dout,
                   const HeadGradients& gradients);

}  // namespace snug::cpu::reference
