// A snapshot beside the model of doctor/torch: tensor by tensor what a pass keeps, and what the
// config says against what is there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "doctor/snapshot/moment.h"
#include "doctor/snapshot/sizes.h"
#include "doctor/torch/memory.h"

namespace snug::doctor::snapshot {

struct ComparedTensor {
  std::string_view label;
  Role role = Role::kActivations;
  bool per_layer = false;
  // Of one layer, or of the whole model. 0: has none.
  std::int64_t model_bytes = 0, here_bytes = 0;
  std::int64_t here_layers = 0;  // that hold it
};

// A setting that the config has otherwise than the snapshot.
struct OtherSetting {
  std::string_view key;
  std::int64_t config = 0, here = 0;
};

struct Comparison {
  std::vector<ComparedTensor> tensors;  // those that are held here, the largest first
  // Activations that one layer keeps for the backward pass; here: of the tensors that are held. 0:
  // the blocks hold nothing.
  std::int64_t model_layer_bytes = 0, here_layer_bytes = 0;
  std::int64_t stream_elements = 0;  // batch × block × width: the unit BTC
  std::vector<OtherSetting> others;
};

Comparison compare(const torch::TorchMemory& memory, const ModelSizes& here, const Moment& moment);

}  // namespace snug::doctor::snapshot
