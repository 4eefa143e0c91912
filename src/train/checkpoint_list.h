// The tensors of a program that a checkpoint holds, under their checkpoint names.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "checkpoint/checkpoint_folder.h"
#include "program/program.h"

namespace snug {

class CheckpointList {
 public:
  explicit CheckpointList(const Program& program);

  std::span<const NamedTensor> weights() const { return weights_; }
  std::span<const NamedTensor> optimizer() const { return optimizer_; }  // both moments
  // `bytes` may be null where only names, dtypes and shapes count.
  CheckpointTensors tensors(TensorBytes* bytes) const { return {weights_, optimizer_, bytes}; }

 private:
  std::vector<NamedTensor> weights_, optimizer_;
};

}  // namespace snug
