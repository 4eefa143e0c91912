// Liveness: from which step to which each tensor and each op's scratch is alive, over all phases of
// a program laid end to end.
#pragma once

#include <cstdint>
#include <vector>

#include "program/program.h"

namespace snug::plan {

// Bytes that must stay together from step `first` to step `last`, both included.
struct Block {
  std::int64_t bytes;  // aligned
  std::int32_t first, last;
  Role role;
  TensorId tensor;         // kNoTensor for scratch
  std::int32_t phase, op;  // scratch only
};

// Steps are numbered through all ops of all phases. What an op of a loop touches is alive
// for the whole loop. Tensors that nothing touches get no block.
// Throws InternalError when an op of another phase touches a Lifetime::kOps or kPhase tensor.
std::vector<Block> live_blocks(const program::Program& program);

}  // namespace snug::plan
