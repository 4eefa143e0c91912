// Fixes for nanoGPT on PyTorch, each with the VRAM that the model predicts after it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "doctor/diagnosis.h"
#include "doctor/pytorch_memory.h"

namespace snug {

enum class TorchFixKind : std::uint8_t {
  kSplit,           // smaller micro-batch, more accumulation, the same product
  kAllocator,       // expandable_segments:True
  kFreeOthers,      // other processes on the card
  kEvalBatch,       // evaluation with a batch of its own: an edit
  kCompileOn,       // torch.compile lowers the step's peak
  kCheckpoint,      // torch.utils.checkpoint around the blocks: an edit
  kDtype16,         // float32 -> bfloat16 or float16
  kEightBitAdam,    // an edit and a package
  kFewerSequences,  // a smaller effective batch
  kShorterContext,
  kFewerLayers,
  kNarrower,
  kOnProcessor,  // device='cpu'
};
std::string_view name_of(TorchFixKind kind) noexcept;  // "split", as in JSON

struct TorchFix {
  TorchFixKind kind;
  std::vector<Change> changes;  // of nanoGPT's keys; empty where it takes an edit or a variable
  bool needs_edit = false;      // nanoGPT has no key for it
  Config config;                // with the changes
  std::int64_t effective_batch = 0;
  TorchRange vram;  // predicted: worst peak with fragmentation and context; both 0: not of the card
  std::int64_t saved_bytes = 0;  // of the middle
  double time_ratio = 1;         // per token
  bool same_training = false;    // the same sequences per update, up to rounding
  bool fits = false;             // by the range's upper end
  std::int64_t parameters = 0;
};

struct TorchFixes {
  std::vector<TorchFix> ranked;         // the best first
  std::optional<TorchFix> recommended;  // fits by the range's upper end, the same training
  std::optional<TorchFix> safest;       // half of what the card has, or the least there is
};

// What the run needs of a card: the worst peak as reserved, with the context's range on top.
TorchRange torch_vram(const TorchMemory& memory);

// `card_bytes`: what the card can give to one process, context included; 0: not known, then nothing
// is said to fit. `diagnosis` may be null.
TorchFixes torch_fixes(const LoadedConfig& config, const TorchRun& run, std::int64_t card_bytes,
                       const Diagnosis* diagnosis);

}  // namespace snug
