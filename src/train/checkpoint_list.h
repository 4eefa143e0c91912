// The tensors of a program that a checkpoint holds, under their checkpoint names. Weights are
// float32 in every checkpoint; where a program holds them in 16 bits, NarrowingBytes stands
// between.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "checkpoint/checkpoint_folder.h"
#include "program/program.h"

namespace snug::train {

class CheckpointList {
 public:
  explicit CheckpointList(const program::Program& program);

  std::span<const checkpoint::NamedTensor> weights() const { return weights_; }
  std::span<const checkpoint::NamedTensor> optimizer() const { return optimizer_; }  // both moments
  // `bytes` may be null where only names, dtypes and shapes count.
  checkpoint::CheckpointTensors tensors(TensorBytes* bytes) const {
    return {weights_, optimizer_, bytes};
  }

 private:
  std::vector<checkpoint::NamedTensor> weights_, optimizer_;
};

}  // namespace snug::train
