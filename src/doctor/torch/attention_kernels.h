// One pair of functions per attention kernel; see attention.h for what they take and give.
#pragma once

#include "doctor/torch/attention.h"

namespace snug::doctor::torch {

TorchRef flash_attention(TorchOps& ops, const TorchRef& qkv, TorchAttentionSaved* saved);
TorchRef flash_attention_backward(TorchOps& ops, TorchRef gradient, TorchAttentionSaved saved);

TorchRef efficient_attention(TorchOps& ops, const TorchRef& qkv, TorchAttentionSaved* saved);
TorchRef efficient_attention_backward(TorchOps& ops, TorchRef gradient, TorchAttentionSaved saved);

TorchRef math_attention(TorchOps& ops, const TorchRef& qkv, TorchAttentionSaved* saved);
TorchRef math_attention_backward(TorchOps& ops, TorchRef gradient, TorchAttentionSaved saved);

TorchRef manual_attention(TorchOps& ops, const TorchRef& qkv, TorchAttentionSaved* saved,
                          std::vector<TorchRef>& locals);
TorchRef manual_attention_backward(TorchOps& ops, TorchRef gradient, TorchAttentionSaved saved);

// The sizes that all of them speak in.
struct TorchHeads {
  explicit TorchHeads(const TorchOps& ops)
      : batch(ops.pass().batch),
        block(ops.pass().block),
        heads(ops.run().n_head),
        width(ops.run().n_embd / ops.run().n_head) {}

  Shape tokens() const { return {batch, heads, block, width}; }
  Shape pairs() const { return {batch, heads, block, block}; }
  // Where no view will do and PyTorch copies: between (B, T, H, D) and (B, H, T, D), and from q, k
  // or v, which lie side by side in one tensor, to (B H, T, D).
  bool transposes() const { return heads > 1 && block > 1; }
  bool merges() const { return batch > 1 && heads > 1; }

  std::int64_t batch, block, heads, width;
};

// SplitBackward: the gradients of q, k and v side by side again.
TorchRef join_qkv_gradients(TorchOps& ops);

}  // namespace snug::doctor::torch
