// Causal self-attention between its two projections, as PyTorch's kernels allocate for it.
#pragma once

#include <vector>

#include "doctor/torch/ops.h"

namespace snug::doctor::torch {

// The kernel of scaled_dot_product_attention, or nanoGPT's own products.
enum class TorchAttention {
  kFlash,      // half precision, head size up to 256; padded to a multiple of 8
  kEfficient,  // fp32 with a head size divisible by 4; half with one divisible by 8
  kMath,       // what is left: T x T probabilities in fp32
  kManual,     // model.py without scaled_dot_product_attention
};

// PyTorch's choice on sm_80 to sm_89; with gradients needed, flash leaves out head sizes of 193 to
// 224, and from 225 those with dropout, which its backward cannot do there.
TorchAttention torch_attention(const TorchRun& run, bool needs_gradient);

struct TorchAttentionSaved {
  TorchRef q, k, v;  // q alone when it is the one tensor of all three
  TorchRef output;   // of the kernel
  TorchRef logsumexp, seed, offset;
  TorchRef probabilities, probabilities_cast, causal_mask, dropout_mask;
  TorchRef row_maxima, row_sums;  // of scores, compiled only
};

// (B, T, 3C) to (B, T, C). `saved` as in TorchOps. `qkv` stays the caller's; `locals` takes what
// CausalSelfAttention.forward holds until it returns.
TorchRef attention(TorchOps& ops, const TorchRef& qkv, TorchAttentionSaved* saved,
                   std::vector<TorchRef>& locals);

// The gradient of attention()'s result to that of its argument.
TorchRef attention_backward(TorchOps& ops, TorchRef gradient, TorchAttentionSaved saved);

}  // namespace snug::doctor::torch
