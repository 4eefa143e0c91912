#include "doctor/snapshot/failure.h"

#include <algorithm>

#include "doctor/torch/allocator.h"
#include "doctor/torch/train.h"

namespace snug::doctor::snapshot {
namespace {

// Of a failure PyTorch records the tensor's bytes, rounded up to 512, or those of its segment.
bool is_request(std::int64_t bytes, std::int64_t request) {
  return bytes > 0 && (torch::allocator_rounding(bytes) == request ||
                       torch::allocator_segment_bytes(bytes) == request);
}

// The bytes of a tensor that the allocator rounds to `request`: of the model's usual sizes, else
// the request itself.
std::int64_t tensor_bytes(const ModelSizes& sizes, std::int64_t request) {
  const std::int64_t rows[] = {sizes.width,      3 * sizes.width, 4 * sizes.width,
                               sizes.vocabulary, sizes.heads,     1};
  for (const std::int64_t columns : rows) {
    for (const std::int64_t width : {2, 4, 8, 1}) {
      const std::int64_t bytes = sizes.tokens * columns * width;
      if (is_request(bytes, request)) return bytes;
    }
  }
  return request;
}

// Without frames: the backward pass's tensor of that size, if the model has one.
Name backward_tensor(const ModelSizes& sizes, std::int64_t request) {
  Name name;
  constexpr std::int64_t kMaxLayers = 400;
  if (!sizes.is_known() || sizes.tokens <= 0 || sizes.layers > kMaxLayers) return name;
  torch::TorchTape tape;
  torch::record_training(run_of(sizes), tape);
  for (const torch::TorchTensor& tensor : tape.tensors()) {
    const bool is_backward = tensor.phase == torch::TorchPhase::kBackward;
    if (!is_backward || !is_request(tensor.bytes, request)) continue;
    name.role = tensor.role == torch::TorchRole::kGradient ? Role::kGradients
                : tensor.role == torch::TorchRole::kLoss   ? Role::kLogits
                                                           : Role::kTemporary;
    name.source = Source::kSize;
    name.label = tensor.what;
    return name;
  }
  return name;
}

torch::TorchPhase phase_of(const Place& place) {
  if (place.op == Operator::kUnrecorded || place.op == Operator::kBackward || place.recomputes)
    return torch::TorchPhase::kBackward;
  if (place.op == Operator::kOptimizer || place.op == Operator::kStep ||
      place.op == Operator::kClip)
    return torch::TorchPhase::kOptimizer;
  if (place.evaluates) return torch::TorchPhase::kEvaluateFirst;
  if (place.in_forward || place.compiled) return torch::TorchPhase::kForward;
  return torch::TorchPhase::kStart;
}

}  // namespace

Failure failure_in(const Snapshot& snapshot, const InferredModel& inferred, const Names& names) {
  const OutOfMemory& found = *snapshot.trace.out_of_memory;
  const Place& place = inferred.places[found.stack];
  Failure failure;
  failure.request_bytes = found.request_bytes;
  failure.device_free_bytes = found.device_free_bytes;
  failure.count = snapshot.trace.out_of_memory_count;
  failure.phase = phase_of(place);
  failure.held = held_at_failure(snapshot, names);
  const bool has_state = failure.held.bytes[static_cast<std::size_t>(Role::kOptimizer)] > 64;
  if (failure.phase == torch::TorchPhase::kEvaluateFirst && has_state)
    failure.phase = torch::TorchPhase::kEvaluateLater;
  failure.free = free_at_failure(snapshot);
  failure.reserved_bytes = std::max(failure.free.reserved_bytes - found.reserved_change_bytes,
                                    failure.free.allocated_bytes);
  failure.tensor = place.op == Operator::kUnrecorded
                       ? backward_tensor(inferred.sizes, found.request_bytes)
                       : name_by_frames(place, part_of(inferred.model, place), inferred.sizes,
                                        tensor_bytes(inferred.sizes, found.request_bytes));
  const bool had_bytes = failure.free.free_bytes + found.device_free_bytes >= found.request_bytes;
  failure.cause = had_bytes ? FailureCause::kFragmentation : FailureCause::kCapacity;
  return failure;
}

}  // namespace snug::doctor::snapshot
