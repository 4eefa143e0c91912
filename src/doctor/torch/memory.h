// What nanoGPT on PyTorch needs of a card's memory, without running it: standing bytes, saved
// activations, the peak of every part of a run and the operator where it happens, and every tensor
// that is ever allocated, so that an out-of-memory message can be traced to one.
//
// PyTorch 2.15, eager: exact to the byte against its own allocator for the shapes that were tried;
// compiled: saved tensors exact in the usual shapes, the peak to about one percent, as a range.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_range.h"
#include "doctor/torch/run.h"
#include "doctor/torch/tape.h"
#include "doctor/torch/train.h"

namespace snug::doctor::torch {

// The maximum that one part of the run holds at once.
struct TorchPeak {
  std::int64_t requested_bytes = 0;  // of tensors, unrounded
  std::int64_t allocated_bytes = 0;  // torch.cuda.max_memory_allocated()
  std::int64_t reserved_bytes = 0;   // torch.cuda.max_memory_reserved() so far: with fragmentation
  TorchPhase phase = TorchPhase::kStart;
  std::int32_t tensor = -1;  // in TorchMemory::tensors: the one whose allocation makes the peak
  std::string_view op;       // its operator; empty if nothing was allocated
};

struct TorchMemory {
  TorchRun run;
  std::int64_t parameter_count = 0;

  std::int64_t params_bytes = 0;  // 4 per parameter
  // As the allocator counts them, each tensor rounded up to 512 B.
  std::int64_t gradient_bytes = 0;
  std::int64_t optimizer_bytes = 0;
  // At the end of a forward pass, unrounded.
  std::int64_t bucket_bytes = 0;       // DDP's buckets of gradients
  std::int64_t half_copies_bytes = 0;  // autocast's copies of weights
  std::int64_t saved_bytes = 0;        // everything else that the pass made and that is still there
  std::int64_t loss_bytes = 0;         // of saved_bytes: tensors as wide as the vocabulary
  std::int64_t resident_bytes = 0;     // allocated between two iterations

  TorchPeak start;
  TorchPeak evaluate_first;  // before the first iteration
  TorchPeak train_first;     // iteration 0: optimizer state appears at its end
  TorchPeak train;           // any later iteration
  TorchPeak evaluate_later;

  // allocated_bytes of `train` and of the larger evaluation. Eager: one value. Compiled: 3% about
  // the measured partition.
  ByteRange train_range;
  ByteRange evaluate_range;
  // Beside what PyTorch's allocator counts: CUDA's context with its kernels, with NCCL if `ddp`.
  ByteRange context_range;

  std::vector<TorchSection> sections;  // in the order of the run
  std::vector<TorchTensor> tensors;    // in the order of allocation
  std::vector<TorchEvent> events;      // of these tensors, in the order of the run
  std::vector<std::string> parameter_names;

  // The largest of the five.
  const TorchPeak& worst() const;
};

// Throws ConfigError on an impossible run or one whose bytes do not fit 63 bits.
TorchMemory torch_memory(const TorchRun& run, const TorchExtent& extent = {});

// "logits", "h.3.mlp.gelu output", "gradient of transformer.h.3.mlp.c_fc.weight".
std::string torch_tensor_name(const TorchMemory& memory, const TorchTensor& tensor);
// "transformer.h.3.mlp.c_fc.weight", "h.3": the parameter or the block that it is of; empty:
// neither.
std::string torch_tensor_owner(const TorchMemory& memory, const TorchTensor& tensor);

// What the model takes for granted, for --explain. The catalogue of the report has the sentences.
enum class TorchAssumptionId : std::uint8_t {
  kLossCurrent,
  kLossOlder,
  kNoAutocast,
  kAutocast,  // {dtype}
  kFlashAttention,
  kEfficientAttention,
  kMathAttention,
  kSlowAttention,
  kFusedAdam,
  kForeachAdam,
  kGradientsStand,
  kGradientsAppear,
  kLogitsName,
  kEvaluation,
  kCompiled,
  kCheckpoint,  // {blocks} {layers}
  kResume,
  kDdp,
  kAllocator,
  kCard,  // {multiprocessors} {cuBLAS's workspace}
  kContext,
};
constexpr int kTorchAssumptionCount = static_cast<int>(TorchAssumptionId::kContext) + 1;
// "version", as in JSON; variants of one assumption share it.
std::string_view name_of(TorchAssumptionId id) noexcept;

struct TorchAssumption {
  TorchAssumptionId id;
  std::vector<std::string> arguments;  // texts that need no translation
};
std::vector<TorchAssumption> torch_assumptions(const TorchRun& run);

}  // namespace snug::doctor::torch
