#include "train/checkpoint_list.h"

namespace snug::train {
namespace {

void append(const program::Program& program, const std::vector<TensorId>& ids,
            std::optional<DType> dtype, std::vector<checkpoint::NamedTensor>& tensors) {
  for (const TensorId id : ids) {
    const Tensor& tensor = program.tensor(id);
    tensors.push_back({tensor.name, dtype.value_or(tensor.dtype), tensor.shape, id});
  }
}

}  // namespace

CheckpointList::CheckpointList(const program::Program& program) {
  append(program, program.weights, DType::kF32, weights_);
  append(program, program.first_moments, std::nullopt, optimizer_);
  append(program, program.second_moments, std::nullopt, optimizer_);
}

}  // namespace snug::train
