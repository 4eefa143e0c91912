// A modelled run on a card of a given size, by PyTorch's own allocator: does it survive, where does
// it fail, what is the smallest card? Whether a change would have helped is found by trying it.
#pragma once

#include <cstdint>
#include <optional>

#include "doctor/torch/memory.h"

namespace snug::doctor::torch {

struct TorchOutcome {
  std::int32_t failed = -1;  // in TorchMemory::tensors; -1: it survives
  // When it fails as the message prints them, else at the end.
  std::int64_t allocated_bytes = 0;
  std::int64_t reserved_bytes = 0;
  std::int64_t peak_reserved_bytes = 0;
  std::int32_t peak_reserved_tensor = -1;  // the tensor whose allocation made it so

  bool survives() const noexcept { return failed < 0; }
};

class TorchReplay {
 public:
  // Records the run further than torch_memory() does by itself: four micro-steps, two iterations
  // and one more after a later evaluation. Until then pieces of memory have settled.
  explicit TorchReplay(const TorchRun& run);

  const TorchMemory& memory() const noexcept { return memory_; }
  TorchOutcome on_card(const TorchAllocatorSettings& settings) const;
  bool survives(std::int64_t limit_bytes, bool expandable_segments = false) const;

  struct Smallest {
    std::int64_t bytes = 0;                 // for PyTorch's allocator, without the context
    TorchPhase phase = TorchPhase::kStart;  // what fails first on a smaller one
  };
  // The smallest card on which it survives, to 1/32 of what lies in pieces; the limit of `settings`
  // does not count.
  Smallest smallest_card(TorchAllocatorSettings settings) const;
  Smallest smallest_card(bool expandable_segments = false) const;

 private:
  TorchMemory memory_;
};

}  // namespace snug::doctor::torch
