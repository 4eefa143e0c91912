#include <fmt/format.h>

#include "doctor/pytorch_attention.h"
#include "doctor/pytorch_memory.h"

namespace snug {
namespace {

std::string attention_text(const TorchRun& run) {
  switch (torch_attention(run, true)) {
    case TorchAttention::kFlash:
      return "scaled_dot_product_attention runs its flash kernel: no T x T tensor is kept";
    case TorchAttention::kEfficient:
      return "scaled_dot_product_attention runs its memory-efficient kernel (fp32, or a head size "
             "that flash does not take): no T x T tensor is kept";
    case TorchAttention::kMath:
      return "no fused attention kernel takes this head size: T x T probabilities are kept in fp32";
    case TorchAttention::kManual:
      break;
  }
  return "PyTorch has no scaled_dot_product_attention: T x T probabilities and a mask per layer "
         "are "
         "kept";
}

std::string autocast_text(const TorchRun& run) {
  if (run.compute == DType::kF32) return "no autocast: every product runs on fp32 tensors";
  return fmt::format(
      "autocast to {}: products read {} copies of weights and inputs, made once per pass and kept "
      "until backward has used them; layer norms, the residual stream and the loss are fp32",
      name_of(run.compute), name_of(run.compute));
}

std::string version_text(const TorchRun& run) {
  if (run.version == TorchVersion::kCurrent) {
    return "the loss as in PyTorch 2.15: log_softmax in the dtype of logits, nll_loss on an fp32 "
           "copy; cuBLAS workspaces are given back after each product";
  }
  return "the loss as in older PyTorch: log_softmax in fp32, through an fp32 copy of bfloat16 "
         "logits; cuBLAS workspaces are held from the first product on";
}

std::string optimizer_text(const TorchRun& run) {
  return run.fused_adam
             ? "fused AdamW: two fp32 tensors per parameter from the first step on, no temporaries"
             : "foreach AdamW: two fp32 tensors per parameter from the first step on, and a "
               "temporary as large as the parameters in each step";
}

void add_options(const TorchRun& run, std::vector<TorchAssumption>& list) {
  if (run.compiled) {
    list.push_back({"compiled",
                    "torch.compile with inductor of PyTorch 2.15 partitions the graph; other "
                    "versions keep other tensors, so the peak is a range"});
  }
  if (run.checkpoint_blocks > 0) {
    list.push_back({"checkpoint",
                    fmt::format("torch.utils.checkpoint (not reentrant) wraps the first {} of {} "
                                "blocks: each keeps its fp32 input and is recomputed in backward",
                                run.checkpoint_blocks, run.n_layer)});
  }
  if (run.resumed) {
    list.push_back({"resume",
                    "train.py keeps the loaded state_dict on the card for the whole run: one more "
                    "fp32 copy of the weights"});
  }
  if (run.ddp) {
    list.push_back({"ddp",
                    "DistributedDataParallel without gradient_as_bucket_view: its buckets are one "
                    "more fp32 copy of the gradients; NCCL's own buffers are in the context"});
  }
}

}  // namespace

std::vector<TorchAssumption> torch_assumptions(const TorchRun& run) {
  std::vector<TorchAssumption> list;
  list.push_back({"version", version_text(run)});
  list.push_back({"autocast", autocast_text(run)});
  list.push_back({"attention", attention_text(run)});
  list.push_back({"optimizer", optimizer_text(run)});
  list.push_back(
      {"gradients", run.accumulation_steps > 1
                        ? "gradients of earlier micro-steps stand while later ones run"
                        : "one micro-step per iteration: gradients appear during backward"});
  list.push_back(
      {"logits_name",
       "train.py's global name `logits` keeps the last micro-step's logits alive through "
       "backward, the next forward and every later evaluation"});
  list.push_back({"evaluation",
                  "evaluation builds no graph; while a batch is evaluated the logits of the one "
                  "before are still named, and its size does not depend on eval_iters"});
  add_options(run, list);
  list.push_back(
      {"allocator",
       "tensors are rounded to 512 B; up to 1 MiB they share 2 MiB segments, below 10 MiB "
       "20 MiB ones, larger ones have their own; expandable_segments is off"});
  list.push_back(
      {"card", fmt::format("a card of sm_80 to sm_89 with {} multiprocessors and a cuBLAS "
                           "workspace of {}",
                           run.multiprocessors, format_bytes(run.cublas_workspace_bytes))});
  list.push_back(
      {"context", "CUDA's context is outside PyTorch's figures: a range, by card and driver"});
  return list;
}

}  // namespace snug
