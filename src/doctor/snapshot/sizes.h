// The sizes of the model that a snapshot shows, from the sizes of its tensors.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "doctor/snapshot/model_file.h"
#include "doctor/snapshot/places.h"
#include "doctor/snapshot/snapshot.h"
#include "doctor/torch/run.h"

namespace snug::doctor::snapshot {

// How many tensors have a size.
using SizeCounts = std::map<std::int64_t, std::int64_t>;
inline std::int64_t count_of(const SizeCounts& counts, std::int64_t bytes) {
  const auto found = counts.find(bytes);
  return found == counts.end() ? 0 : found->second;
}

// Of a GPT; 0: not known.
struct ModelSizes {
  std::int64_t width = 0, layers = 0, vocabulary = 0, block = 0, heads = 0;
  std::int64_t tokens = 0;  // of a micro-step: batch × block
  bool bias = false;
  bool half = true;  // autocast to 16 bits
  bool dropout = false;

  bool is_known() const { return width > 0 && layers > 0 && vocabulary > 0 && block > 0; }
  std::int64_t batch() const { return block > 0 ? tokens / block : 0; }
};

// Bytes of all parameters in fp32, by size; empty when not known.
SizeCounts parameter_sizes(const ModelSizes& sizes);

ModelSizes infer_sizes(const Snapshot& snapshot, const std::vector<Place>& places,
                       const ModelFile& model);

// nanoGPT's run of these sizes; is_known() and tokens > 0.
torch::TorchRun run_of(const ModelSizes& sizes);
ModelSizes sizes_of(const torch::TorchRun& run);

}  // namespace snug::doctor::snapshot
