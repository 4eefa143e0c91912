#include "doctor/torch/replay.h"

#include <algorithm>
#include <vector>

namespace snug::doctor::torch {
namespace {

constexpr TorchExtent kSettled{4, 2, 1};
constexpr int kHalvings = 5;

}  // namespace

TorchReplay::TorchReplay(const TorchRun& run) : memory_(torch_memory(run, kSettled)) {}

TorchOutcome TorchReplay::on_card(const TorchAllocatorSettings& settings) const {
  TorchAllocator allocator(settings);
  std::vector<TorchAllocator::BlockId> blocks(memory_.tensors.size(), TorchAllocator::kNone);
  TorchOutcome outcome;
  for (const TorchEvent& event : memory_.events) {
    const auto tensor = static_cast<std::size_t>(event.tensor);
    if (!event.allocates) {
      allocator.free(blocks[tensor]);
      continue;
    }
    blocks[tensor] = allocator.allocate(memory_.tensors[tensor].bytes);
    if (blocks[tensor] == TorchAllocator::kNone) {
      outcome.failed = event.tensor;
      break;
    }
    if (allocator.reserved_bytes() > outcome.peak_reserved_bytes) {
      outcome.peak_reserved_bytes = allocator.reserved_bytes();
      outcome.peak_reserved_tensor = event.tensor;
    }
  }
  outcome.allocated_bytes = allocator.allocated_bytes();
  outcome.reserved_bytes = allocator.reserved_bytes();
  return outcome;
}

bool TorchReplay::survives(std::int64_t limit_bytes, bool expandable_segments) const {
  return on_card({limit_bytes, expandable_segments}).survives();
}

TorchReplay::Smallest TorchReplay::smallest_card(bool expandable_segments) const {
  return smallest_card(TorchAllocatorSettings{0, expandable_segments});
}

TorchReplay::Smallest TorchReplay::smallest_card(TorchAllocatorSettings settings) const {
  settings.limit_bytes = 0;
  const TorchOutcome endless = on_card(settings);
  std::int64_t low = memory_.worst().allocated_bytes, high = endless.peak_reserved_bytes;
  TorchPhase phase = memory_.worst().phase;
  for (int i = 0; i < kHalvings && low < high; ++i) {
    settings.limit_bytes = low + (high - low) / 2;
    const TorchOutcome outcome = on_card(settings);
    if (outcome.survives()) {
      high = settings.limit_bytes;
      continue;
    }
    low = settings.limit_bytes;
    phase = memory_.tensors[static_cast<std::size_t>(outcome.failed)].phase;
  }
  return {high, phase};
}

}  // namespace snug::doctor::torch
