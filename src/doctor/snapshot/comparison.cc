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

// Of one pass of the model: what is kept for the backward pass, else what lives inside of it only.
struct ModelTensor {
  std::int64_t saved_layer_bytes = 0, saved_outside_bytes = 0;
  std::int64_t local_layer_bytes = 0, local_outside_bytes = 0;
  bool is_weight_copy = false;

  std::int64_t bytes(bool per_layer) const {
    const std::int64_t saved = per_layer ? saved_layer_bytes : saved_outside_bytes;
    return saved > 0 ? saved : per_layer ? local_layer_bytes : local_outside_bytes;
  }
};
using ModelTensors = std::map<std::string_view, ModelTensor>;

void add_tensor(const torch::TorchTensor& tensor, ModelTensor& row) {
  row.is_weight_copy = tensor.role == torch::TorchRole::kWeightCopy;
  if (tensor.layer == 0)
    (tensor.saved ? row.saved_layer_bytes : row.local_layer_bytes) += tensor.bytes;
  if (tensor.layer < 0)
    (tensor.saved ? row.saved_outside_bytes : row.local_outside_bytes) += tensor.bytes;
}

// The first forward pass of training.
ModelTensors training_pass(const torch::TorchMemory& memory) {
  ModelTensors pass;
  for (const torch::TorchTensor& tensor : memory.tensors) {
    const bool of_pass = tensor.phase == torch::TorchPhase::kForward && tensor.iteration == 0 &&
                         tensor.micro_step == 0;
    if (of_pass) add_tensor(tensor, pass[common_label(tensor.what)]);
  }
  return pass;
}

// The first batch of the first evaluation: it ends where its embeddings are made again.
ModelTensors evaluation_pass(const torch::TorchMemory& memory) {
  ModelTensors pass;
  for (const torch::TorchTensor& tensor : memory.tensors) {
    if (tensor.phase != torch::TorchPhase::kEvaluateFirst) continue;
    if (tensor.what == "positions" && pass.contains("positions")) break;
    add_tensor(tensor, pass[common_label(tensor.what)]);
  }
  return pass;
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

bool is_compared(const HeldTensors& row) {
  return !row.name.label.empty() &&
         (row.name.role == Role::kActivations || row.name.role == Role::kLogits ||
          row.name.role == Role::kWeightCopies);
}

// Tensors of one label stand in several parts (two norms of a block): they are one row.
void add_row(const HeldTensors& row, std::int64_t all_layers, const ModelTensors& pass,
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
  const auto model = pass.find(label);
  if (model != pass.end()) tensor.model_bytes = model->second.bytes(per_layer);
}

}  // namespace

Comparison compare(const torch::TorchMemory& memory, const ModelSizes& here, const Moment& moment) {
  Comparison comparison;
  comparison.stream_elements = memory.run.batch_size * memory.run.block_size * memory.run.n_embd;
  if (here.is_known()) add_others(memory.run, here, comparison);
  const ModelTensors training = training_pass(memory), evaluation = evaluation_pass(memory);
  std::map<std::pair<std::string_view, bool>, ComparedTensor> rows;
  for (const HeldTensors& row : moment.rows) {
    if (is_compared(row))
      add_row(row, memory.run.n_layer, row.name.evaluates ? evaluation : training, rows);
  }
  for (const auto& [key, tensor] : rows) {
    comparison.tensors.push_back(tensor);
    const auto model = training.find(tensor.label);
    const bool is_saved = model != training.end() && model->second.saved_layer_bytes > 0;
    const bool is_other = model == training.end();
    if (tensor.per_layer && tensor.role == Role::kActivations && (is_saved || is_other))
      comparison.here_layer_bytes += tensor.here_bytes;
  }
  std::stable_sort(comparison.tensors.begin(), comparison.tensors.end(),
                   [](const ComparedTensor& a, const ComparedTensor& b) {
                     return a.here_bytes * std::max<std::int64_t>(1, a.here_layers) >
                            b.here_bytes * std::max<std::int64_t>(1, b.here_layers);
                   });
  for (const auto& [label, model] : training) {
    if (!model.is_weight_copy) comparison.model_layer_bytes += model.saved_layer_bytes;
  }
  return comparison;
}

}  // namespace snug::doctor::snapshot
