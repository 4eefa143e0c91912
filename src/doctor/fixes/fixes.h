// Fixes for nanoGPT on PyTorch, each with the VRAM that the model predicts after it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "doctor/diagnosis/diagnosis.h"
#include "doctor/torch/memory.h"

namespace snug {

enum class TorchFixKind : std::uint8_t {
  kSplit,           // smaller micro-batch, more accumulation, the same product
  kAllocator,       // expandable_segments:True
  kFreeOthers,      // other processes on the card
  kEvalBatch,       // evaluation with a batch of its own: an edit
  kCompileOn,       // torch.compile lowers the step's peak
  kCheckpoint,      // torch.utils.checkpoint around the blocks: an edit
  kDtype16,         // float32 -> bfloat16 or float16
  kEightBitAdam,    // AdamW's moments in one byte each: an edit and a package
  kFewerSequences,  // a smaller effective batch
  kShorterContext,
  kFewerLayers,
  kNarrower,
  kSmallerPretrained,  // another of OpenAI's models in init_from
  kOnProcessor,        // device='cpu'
};
std::string_view name_of(TorchFixKind kind) noexcept;  // "split", as in JSON

struct TorchFix {
  TorchFixKind kind;
  // Keys to set: nanoGPT's, and others that the user set. Their values are those of `config`.
  std::vector<Change> changes;
  bool needs_edit = false;  // nanoGPT has no key for all of it
  // After the fix, with what takes an edit too (eval_batch_size, checkpoint_blocks).
  Config config;
  TorchRun run;
  std::int64_t effective_batch = 0;
  TorchRange vram;  // predicted: worst peak with fragmentation and context; both 0: not of the card
  std::int64_t saved_bytes = 0;  // of the middle
  // Seconds per token against now: by the card's rates, those of an RTX 3090 where it is not known.
  double time_ratio = 1;
  bool same_training = false;  // the same sequences per update, up to rounding
  bool fits = false;           // by the range's upper end
  std::int64_t parameters = 0;
};

struct TorchFixes {
  std::vector<TorchFix> ranked;  // the best first
  bool fits_as_is = false;       // by the range's upper end: nothing is recommended then
  // The same training by keys alone, the largest split that fits by the range's upper end; where
  // there is none, `safest` if that fits.
  std::optional<TorchFix> recommended;
  // The largest split within half of what the card has, else the least there is, if that fits: one
  // sequence at a time with every block checkpointed, which takes an edit.
  std::optional<TorchFix> safest;
};

// What the run needs of a card: the worst peak as reserved, with the context's range on top.
TorchRange torch_vram(const TorchMemory& memory);

// `run` is the run of the resolved `config`, compiled as it says. `card_bytes`: what the card can
// give to one process, context included; 0: not known, then nothing is said to fit. `card` and
// `diagnosis` may be null.
TorchFixes torch_fixes(const LoadedConfig& config, const TorchRun& run, std::int64_t card_bytes,
                       const Card* card, const Diagnosis* diagnosis);

}  // namespace snug
