#include "doctor/snapshot/unrecorded.h"

#include <algorithm>
#include <map>

#include "doctor/snapshot/likeness.h"
#include "doctor/torch/train.h"

namespace snug::doctor::snapshot {
namespace {

Role role_of(torch::TorchRole role) {
  switch (role) {
    case torch::TorchRole::kParameter:
    case torch::TorchRole::kBuffer:
      return Role::kWeights;
    case torch::TorchRole::kGradient:
      return Role::kGradients;
    case torch::TorchRole::kOptimizer:
      return Role::kOptimizer;
    case torch::TorchRole::kWeightCopy:
      return Role::kWeightCopies;
    case torch::TorchRole::kInput:
      return Role::kInputs;
    case torch::TorchRole::kActivation:
      return Role::kActivations;
    case torch::TorchRole::kLoss:
      return Role::kLogits;
    case torch::TorchRole::kTemporary:
      return Role::kTemporary;
    case torch::TorchRole::kWorkspace:
      return Role::kWorkspace;
    case torch::TorchRole::kCommunication:
      return Role::kCommunication;
    case torch::TorchRole::kResume:
      return Role::kLoaded;
  }
  return Role::kUnknown;
}

// The tensors that are alive after an event, by size.
std::map<std::int64_t, std::vector<std::int32_t>> alive_after(const torch::TorchTape& tape,
                                                              std::size_t event) {
  std::vector<bool> alive(tape.tensors().size());
  for (std::size_t i = 0; i <= event && i < tape.events().size(); ++i) {
    alive[static_cast<std::size_t>(tape.events()[i].tensor)] = tape.events()[i].allocates;
  }
  std::map<std::int64_t, std::vector<std::int32_t>> by_size;
  for (std::size_t i = 0; i < alive.size(); ++i) {
    if (alive[i]) by_size[tape.tensors()[i].bytes].push_back(static_cast<std::int32_t>(i));
  }
  return by_size;
}

// What a run of `sizes` holds at the moment that looks most like `held`.
class ModelledMoment {
 public:
  ModelledMoment(const ModelSizes& sizes, const SizeCounts& held) {
    torch::record_training(run_of(sizes), tape_);
    alive_ = alive_after(tape_, closest_event(tape_, held).event);
  }

  // The first that was allocated of those of a size, which is taken away; nullptr: none is left.
  const torch::TorchTensor* take(std::int64_t bytes) {
    const auto found = alive_.find(bytes);
    if (found == alive_.end() || found->second.empty()) return nullptr;
    const auto index = static_cast<std::size_t>(found->second.front());
    found->second.erase(found->second.begin());
    return &tape_.tensors()[index];
  }

 private:
  torch::TorchTape tape_;
  std::map<std::int64_t, std::vector<std::int32_t>> alive_;
};

bool can_be_modelled(const ModelSizes& sizes) {
  return sizes.is_known() && sizes.tokens > 0 && sizes.layers <= kMaxTapeLayers;
}

}  // namespace

// Of n parameters of a size, n are weights; with 4n all four are there, with 3n no gradients are;
// with 2n the second ones are gradients. What frames have named is taken off first.
void name_states(const SizeCounts& parameters, const NamedSizes& named, bool has_frames,
                 std::vector<Unrecorded>& blocks) {
  std::map<std::int64_t, std::vector<Unrecorded*>> by_size;
  for (Unrecorded& block : blocks) {
    if (parameters.contains(block.bytes)) by_size[block.bytes].push_back(&block);
  }
  for (auto& [size, same] : by_size) {
    const std::int64_t bytes = size;  // clang before 16 captures no structured binding
    // What was there before the record began: weights and moments. What it saw appear: gradients.
    std::stable_sort(same.begin(), same.end(), [](const Unrecorded* a, const Unrecorded* b) {
      return a->is_older > b->is_older;
    });
    const std::int64_t n = count_of(parameters, bytes);
    const auto left = [&](std::int64_t wanted, const SizeCounts& have) {
      return std::max<std::int64_t>(0, wanted - count_of(have, bytes));
    };
    const std::int64_t weights = left(n, named.weights);
    const auto rest = static_cast<std::int64_t>(same.size()) - weights;
    const std::int64_t moments =
        rest >= left(2 * n, named.optimizer) && rest > n ? left(2 * n, named.optimizer) : 0;
    std::int64_t index = 0;
    for (Unrecorded* block : same) {
      const Role role = index < weights                 ? Role::kWeights
                        : index < weights + moments     ? Role::kOptimizer
                        : index < weights + moments + n ? Role::kGradients
                                                        : Role::kTemporary;
      ++index;
      block->name.role = role;
      block->name.source = Source::kSize;
      if (role == Role::kOptimizer) block->name.label = "AdamW state";
    }
  }
  for (Unrecorded& block : blocks) {
    // Frames are recorded, but not of this one, and the record saw it appear: the backward pass.
    if (block.name.role != Role::kUnknown || !has_frames || block.is_older) continue;
    block.name.role = Role::kTemporary;
    block.name.source = Source::kSize;
  }
}

bool name_by_moment(const ModelSizes& sizes, const SizeCounts& held,
                    std::vector<Unrecorded>& blocks) {
  if (!can_be_modelled(sizes)) return false;
  ModelledMoment moment(sizes, held);
  std::vector<Name> names;
  std::int64_t all_bytes = 0, named_bytes = 0;
  for (const Unrecorded& block : blocks) {
    const torch::TorchTensor* tensor = moment.take(block.bytes);
    all_bytes += block.bytes;
    names.push_back(block.name);
    if (tensor == nullptr) continue;
    named_bytes += block.bytes;
    names.back() = {role_of(tensor->role), Source::kSize, tensor->what, tensor->layer};
  }
  if (named_bytes < all_bytes / 20 * 19) return false;
  for (std::size_t i = 0; i < blocks.size(); ++i) blocks[i].name = names[i];
  return true;
}

void name_by_model(const ModelSizes& sizes, const SizeCounts& held,
                   std::vector<Unrecorded>& blocks) {
  if (!can_be_modelled(sizes)) return;
  ModelledMoment moment(sizes, held);
  for (Unrecorded& block : blocks) {
    if (block.name.role != Role::kUnknown && block.name.role != Role::kTemporary) continue;
    const torch::TorchTensor* tensor = moment.take(block.bytes);
    if (tensor == nullptr) continue;
    const Role role = role_of(tensor->role);
    if (role == Role::kWeights || role == Role::kOptimizer || role == Role::kGradients) continue;
    block.name = {role, Source::kSize, tensor->what, tensor->layer};
  }
}

}  // namespace snug::doctor::snapshot
