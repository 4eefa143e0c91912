// How long PyTorch's nanoGPT takes per token on a card: products and attention by their arithmetic,
// everything else by the bytes of the tensors that the tape allocates. For ratios between runs; the
// absolute figure is that of kernels without Python's own time.
#pragma once

#include "doctor/torch/memory.h"
#include "fit/cards.h"

namespace snug::doctor::fixes {

// torch.compile by nanoGPT's own measurement: 250 ms per iteration without it, 135 ms with it.
constexpr double kCompiledTime = 135.0 / 250.0;

// What eight cores with AVX2 reach in float32 products, in operations per second.
constexpr double kProcessorRate = 0.6e12;

class TorchTime {
 public:
  // Null: an RTX 3090's figures, as the memory's model takes them.
  explicit TorchTime(const fit::Card* card);

  // Of an iteration with its update, by one process. Compare runs that are both compiled, or both
  // not: what fusing saves in time is kCompiledTime.
  double seconds_per_token(const torch::TorchMemory& memory) const;

 private:
  const fit::Card& card_;
};

// The same run with device = 'cpu', by arithmetic alone.
double processor_seconds_per_token(const torch::TorchRun& run);

}  // namespace snug::doctor::fixes
