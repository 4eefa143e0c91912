#include "doctor/snapshot/comparison.h"

#include <algorithm>
#include <map>
#include <utility>

namespace snug::doctor::snapshot {
namespace {

// Mean and rstd have one size and one line; the model tells them apart, frames do not.
std::string_view common_label(std::string_view label) {
  return label == "layer norm's rstd" ? "layer norm's mean" : label;
}

struct ModelTensor {
  std::int64_t first_layer_bytes = 0;  // of layer 0
  std::int64_t outside_bytes = 0;      // of no layer
};

// What the first forward pass of training leaves behind.
std::map<std::string_view, ModelTensor> saved_by_model(const torch::TorchMemory& memory) {
  std::map<std::string_view, ModelTensor> saved;
  for (const torch::TorchTensor& tensor : memory.tensors) {
    const bool of_pass = tensor.phase == torch::TorchPhase::kForward && tensor.iteration == 0 &&
                         tensor.micro_step == 0 && tensor.saved;
    if (!of_pass) continue;
    ModelTensor& row = saved[common_label(tensor.what)];
    if (tensor.layer == 0) row.first_layer_bytes += tensor.bytes;
    if (tensor.layer < 0) row.outside_bytes += tensor.bytes;
  }
  return saved;
}

void add_others(const torch::TorchRun& run, const ModelSizes& here, Comparison& comparison) {
  const auto add = [&](std::string_view key, std::int64_t config, std::int64_t found) {
    if (found > 0 && config != found) comparison.others.push_back({key, config, found});
  };
  add("n_layer", run.n_layer, here.layers);
  add("n_embd", run.n_embd, here.width);
  add("n_head", run.n_head, here.heads);
  add("block_size", run.block_size, here.block);
  add("vocab_size", run.vocab_size, here.vocabulary);
  add("batch_size", run.batch_size, here.batch());
}

bool is_compared(const Held& row) {
  return !row.name.label.empty() && !row.name.evaluates &&
         (row.name.role == Role::kActivations || row.name.role == Role::kLogits ||
          row.name.role == Role::kWeightCopies);
}

// Tensors of one label stand in several parts (two norms of a block): they are one row.
void add_row(const Held& row, std::int64_t all_layers,
             const std::map<std::string_view, ModelTensor>& saved,
             std::map<std::pair<std::string_view, bool>, ComparedTensor>& rows) {
  const std::string_view label = common_label(row.name.label);
  const bool per_layer = is_of_block(row.name.part);
  ComparedTensor& tensor = rows[{label, per_layer}];
  const std::int64_t layers = row.layer_count > 0 ? row.layer_count : all_layers;
  tensor.label = label;
  tensor.role = row.name.role;
  tensor.per_layer = per_layer;
  tensor.here_bytes += per_layer ? row.bytes / std::max<std::int64_t>(1, layers) : row.bytes;
  if (per_layer) tensor.here_layers = std::max(tensor.here_layers, layers);
  const auto model = saved.find(label);
  if (model == saved.end()) return;
  tensor.model_bytes = per_layer ? model->second.first_layer_bytes : model->second.outside_bytes;
}

}  // namespace

Comparison compare(const torch::TorchMemory& memory, const ModelSizes& here, const Moment& moment) {
  Comparison comparison;
  comparison.stream_elements = memory.run.batch_size * memory.run.block_size * memory.run.n_embd;
  if (here.is_known()) add_others(memory.run, here, comparison);
  const std::map<std::string_view, ModelTensor> saved = saved_by_model(memory);
  std::map<std::pair<std::string_view, bool>, ComparedTensor> rows;
  for (const Held& row : moment.rows) {
    if (is_compared(row)) add_row(row, memory.run.n_layer, saved, rows);
  }
  for (const auto& [key, tensor] : rows) {
    comparison.tensors.push_back(tensor);
    if (tensor.per_layer && tensor.role == Role::kActivations)
      comparison.here_layer_bytes += tensor.here_bytes;
  }
  std::stable_sort(comparison.tensors.begin(), comparison.tensors.end(),
                   [](const ComparedTensor& a, const ComparedTensor& b) {
                     return a.here_bytes * std::max<std::int64_t>(1, a.here_layers) >
                            b.here_bytes * std::max<std::int64_t>(1, b.here_layers);
                   });
  for (const auto& [label, model] : saved) {
    if (label != "autocast copy") comparison.model_layer_bytes += model.first_layer_bytes;
  }
  return comparison;
}

}  // namespace snug::doctor::snapshot
