#include "doctor/snapshot/unrecorded.h"

#include <algorithm>
#include <map>

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

// How far the tensors that a tape holds are those of a snapshot, from event to event: bytes of
// both, less bytes of one alone.
class Likeness {
 public:
  explicit Likeness(const SizeCounts& wanted) : wanted_(wanted) {}
  std::int64_t score() const { return score_; }

  void change(std::int64_t bytes, bool allocates) {
    std::int64_t& count = held_[bytes];
    const std::int64_t wanted = count_of(wanted_, bytes);
    // The one that comes or goes is wanted if there are not enough without it.
    const bool is_wanted = (allocates ? count : count - 1) < wanted;
    const std::int64_t weight = is_wanted ? bytes : -bytes;
    score_ += allocates ? weight : -weight;
    count += allocates ? 1 : -1;
  }

 private:
  const SizeCounts& wanted_;
  SizeCounts held_;
  std::int64_t score_ = 0;
};

// The event after which the tape looks most like `held`.
std::size_t closest_event(const torch::TorchTape& tape, const SizeCounts& held) {
  Likeness likeness(held);
  std::int64_t best_score = INT64_MIN;
  std::size_t best = 0;
  for (std::size_t i = 0; i < tape.events().size(); ++i) {
    const torch::TorchEvent& event = tape.events()[i];
    likeness.change(tape.tensors()[static_cast<std::size_t>(event.tensor)].bytes, event.allocates);
    if (likeness.score() > best_score) {
      best_score = likeness.score();
      best = i;
    }
  }
  return best;
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

void name_by_model(const ModelSizes& sizes, const SizeCounts& held,
                   std::vector<Unrecorded>& blocks) {
  constexpr std::int64_t kMaxLayers = 400;  // a tape of more takes seconds
  if (!sizes.is_known() || sizes.tokens <= 0 || sizes.layers > kMaxLayers) return;
  torch::TorchTape tape;
  torch::record_training(run_of(sizes), tape);
  auto alive = alive_after(tape, closest_event(tape, held));
  for (Unrecorded& block : blocks) {
    if (block.name.role != Role::kUnknown && block.name.role != Role::kTemporary) continue;
    const auto found = alive.find(block.bytes);
    if (found == alive.end() || found->second.empty()) continue;
    const torch::TorchTensor& tensor =
        tape.tensors()[static_cast<std::size_t>(found->second.front())];
    found->second.erase(found->second.begin());
    const Role role = role_of(tensor.role);
    if (role == Role::kWeights || role == Role::kOptimizer || role == Role::kGradients) continue;
    block.name = {role, Source::kSize, tensor.what, tensor.layer};
  }
}

}  // namespace snug::doctor::snapshot
