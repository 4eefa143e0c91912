#include "doctor/torch/attention.h"

#include <utility>

#include "doctor/torch/attention_kernels.h"

namespace snug::doctor::torch {

TorchAttention torch_attention(const TorchRun& run, bool needs_gradient) {
  if (!run.flash) return TorchAttention::kManual;
  const std::int64_t head = run.n_embd / run.n_head;
  const bool half = run.compute != DType::kF32;
  const bool refused =
      needs_gradient && head > 192 && (head <= 224 || run.dropout > 0);  // sm_86 and sm_89
  if (half && head <= 256 && !refused) return TorchAttention::kFlash;
  return head % (half ? 8 : 4) == 0 ? TorchAttention::kEfficient : TorchAttention::kMath;
}

TorchRef attention(TorchOps& ops, const TorchRef& qkv, TorchAttentionSaved* saved,
                   std::vector<TorchRef>& locals) {
  const TorchPartScope part(ops.tape(), TorchPart::kAttentionHeads);
  switch (torch_attention(ops.run(), ops.pass().trains)) {
    case TorchAttention::kFlash:
      return flash_attention(ops, qkv, saved);
    case TorchAttention::kEfficient:
      return efficient_attention(ops, qkv, saved);
    case TorchAttention::kMath:
      return math_attention(ops, qkv, saved);
    case TorchAttention::kManual:
      break;
  }
  return manual_attention(ops, qkv, saved, locals);
}

TorchRef attention_backward(TorchOps& ops, TorchRef gradient, TorchAttentionSaved saved) {
  const TorchPartScope part(ops.tape(), TorchPart::kAttentionHeads);
  switch (torch_attention(ops.run(), true)) {
    case TorchAttention::kFlash:
      return flash_attention_backward(ops, std::move(gradient), std::move(saved));
    case TorchAttention::kEfficient:
      return efficient_attention_backward(ops, std::move(gradient), std::move(saved));
    case TorchAttention::kMath:
      return math_attention_backward(ops, std::move(gradient), std::move(saved));
    case TorchAttention::kManual:
      break;
  }
  return manual_attention_backward(ops, std::move(gradient), std::move(saved));
}

}  // namespace snug::doctor::torch
