// How far a modelled run of nanoGPT is what a snapshot holds, by the sizes of tensors alone.
#pragma once

#include <cstddef>
#include <cstdint>

#include "doctor/snapshot/sizes.h"
#include "doctor/torch/tape.h"

namespace snug::doctor::snapshot {

struct Likeness {
  std::size_t event = 0;   // of the tape: after it the run looks most like the snapshot
  std::int64_t score = 0;  // bytes that both have, less bytes that the run alone has
};

Likeness closest_event(const torch::TorchTape& tape, const SizeCounts& held);

// A tape of more layers takes seconds.
constexpr std::int64_t kMaxTapeLayers = 400;

// What a snapshot without frames shows: of the runs that its sizes leave open, the one that has a
// moment most like `held` (all live blocks). `sizes` has the width, and is left as it is where none
// is found.
void infer_by_likeness(const SizeCounts& held, ModelSizes& sizes);

}  // namespace snug::doctor::snapshot
