// Fixes for nanoGPT on PyTorch, each with the VRAM that the model predicts after it.
#pragma once

#include <cstdint>

#include "config/config.h"
#include "doctor/diagnosis/diagnosis.h"
#include "doctor/torch/memory.h"
#include "fit/fix.h"

namespace snug::doctor::fixes {

// What the run needs of a card, with the context's range on top. Low: what its tensors hold at the
// worst moment. High: the smallest card on which PyTorch's allocator carries the run through, with
// a tolerance; where that is not close to `card_bytes`, or this is 0 (not known), what it reserves
// on a card without end.
ByteRange torch_need(const torch::TorchMemory& memory, std::int64_t card_bytes);

// How far the model may be off, as a share of what is needed: eager 1%, with checkpointed blocks
// 2%, compiled 3%.
double torch_tolerance(const torch::TorchRun& run);

// A config tried on the allocator: the phase that fails first on a smaller card, and what is left.
struct TorchProof {
  torch::TorchPhase phase = torch::TorchPhase::kStart;
  std::int64_t needed_bytes = 0;  // by PyTorch's allocator, without tolerance and context
  std::int64_t spare_bytes = 0;   // of what the card can give
  bool survives_resume = true;    // with the copy of the weights that train.py then keeps
};

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

// `fix` is one of torch_fixes() with the same arguments, and fits.
TorchProof prove(const config::LoadedConfig& config, const torch::TorchRun& run,
                 std::int64_t card_bytes, const fit::Card* card, const fit::Fix& fix);

}  // namespace snug::doctor::fixes
