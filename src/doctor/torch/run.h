// TorchRun: what decides the memory of nanoGPT on PyTorch, one training process on one card.
#pragma once

#include <cstdint>

#include "base/byte_range.h"
#include "base/bytes.h"
#include "base/dtype.h"
#include "config/config.h"
#include "model/model_spec.h"

namespace snug::doctor::torch {

// How PyTorch computes the loss under autocast and whether cuBLAS keeps its workspaces.
// kCurrent is 2.15, measured; kOlder makes log_softmax's input and output fp32 and holds the
// workspaces for the whole run, derived from its source.
enum class TorchVersion { kCurrent, kOlder };

struct TorchRun : config::GptSizes {
  TorchRun() { vocab_size = config::kPaddedGpt2Vocabulary; }

  std::int64_t batch_size = 12;  // sequences of one micro-step
  std::int64_t eval_batch_size = 12;
  std::int64_t eval_block_size = 1024;
  std::int64_t accumulation_steps = 40;  // micro-steps of this process per iteration
  std::int64_t world_size = 1;           // processes; they share gradient_accumulation_steps
  bool clips_gradients = true;           // grad_clip != 0

  DType compute = DType::kBF16;        // kF32, or autocast to kBF16 or kF16
  bool flash = true;                   // scaled_dot_product_attention; false before PyTorch 2.0
  bool compiled = false;               // torch.compile
  std::int64_t checkpoint_blocks = 0;  // torch.utils.checkpoint around the first n blocks
  bool fused_adam = true;              // false: foreach
  bool ddp = false;                    // DistributedDataParallel, gradient_as_bucket_view off
  bool resumed = false;                // init_from = 'resume'
  bool expandable_segments = false;    // PYTORCH_CUDA_ALLOC_CONF
  TorchVersion version = TorchVersion::kCurrent;

  // The card is an RTX 3090. Small sequences are split by it; cuBLAS takes 32 MiB from sm_90 on.
  std::int64_t multiprocessors = 82;
  std::int64_t cublas_workspace_bytes = 8519680;
  ByteRange context;  // what CUDA holds of the card beside PyTorch; both 0: that of any card
};

// The PyTorch run of a resolved config. `compile` means torch.compile, dtype "auto" bfloat16 as on
// any card since Ampere, eval_batch_size and checkpointing the edit of nanoGPT that gives them.
TorchRun torch_run(const config::Config& config, std::int64_t vocab_size);

// Throws ConfigError on sizes that no run can have (zero, heads that do not divide n_embd, ...).
void check_torch_run(const TorchRun& run);

// Bytes per element of what autocast computes in: 4 without autocast.
inline std::int64_t compute_bytes(const TorchRun& run) { return size_of(run.compute); }

}  // namespace snug::doctor::torch
