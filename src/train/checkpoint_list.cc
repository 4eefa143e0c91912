#include "train/checkpoint_list.h"

namespace snug {
namespace {

void append(const Program& program, const std::vector<TensorId>& ids,
            std::vector<NamedTensor>& tensors) {
  for (const TensorId id : ids) {
    const Tensor& tensor = program.tensor(id);
    tensors.push_back({tensor.name, tensor.dtype, tensor.shape, id});
  }
}

}  // namespace

CheckpointList::CheckpointList(const Program& program) {
  append(program, program.weights, weights_);
  append(program, program.first_moments, optimizer_);
  append(program, program.second_moments, optimizer_);
}

}  // namespace snug
