// Fixes for nanoGPT on PyTorch, each with the VRAM that the model predicts after it.
#pragma once

#include <cstdint>

#include "config/config.h"
#include "doctor/diagnosis/diagnosis.h"
#include "doctor/torch/memory.h"
#include "fit/fix.h"

namespace snug::doctor::fixes {

// What the run needs of a card: the worst peak as reserved, with the context's range on top.
ByteRange torch_vram(const torch::TorchMemory& memory);

// `run` is the run of the resolved `config`, compiled as it says. `card_bytes`: what the card can
// give to one process, context included; 0: not known, then nothing is said to fit. `card` and
// `diagnosis` may be null. Of the result, all by the need's upper end:
// - `chosen`: the same training by keys alone, the largest split that fits; where there is none,
//   `safest` if that fits; nothing when it fits as it is.
// - `safest`: the largest split within half of what the card has; else, if that fits, the smallest
//   need there is: one sequence at a time with every block checkpointed, which takes an edit.
fit::Fixes torch_fixes(const config::LoadedConfig& config, const torch::TorchRun& run,
                       std::int64_t card_bytes, const fit::Card* card,
                       const diagnosis::Diagnosis* diagnosis);

}  // namespace snug::doctor::fixes
