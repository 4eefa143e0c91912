#include "doctor/snapshot/snapshot_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "doctor/snapshot/failure.h"

namespace snug::doctor::snapshot {
namespace {

// The run as nanoGPT's keys.
std::vector<std::string> keys_of(const ModelSizes& sizes) {
  const torch::TorchRun run = run_of(sizes);
  return {fmt::format("--n_layer={}", run.n_layer),
          fmt::format("--n_head={}", run.n_head),
          fmt::format("--n_embd={}", run.n_embd),
          fmt::format("--block_size={}", run.block_size),
          fmt::format("--vocab_size={}", run.vocab_size),
          fmt::format("--batch_size={}", run.batch_size),
          fmt::format("--bias={}", run.bias ? "True" : "False"),
          fmt::format("--dropout={}", run.dropout),
          fmt::format("--dtype='{}'", sizes.half ? "bfloat16" : "float32")};
}

// Whether it ran eagerly shows in the frames, whatever the config says.
bool ran_eagerly(const InferredModel& inferred) {
  return inferred.model.is_gpt && std::none_of(inferred.places.begin(), inferred.places.end(),
                                               [](const Place& place) { return place.compiled; });
}

bool names_setting(const std::vector<std::string>& words, std::string_view key) {
  return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
    return word.starts_with(fmt::format("--{}=", key));
  });
}

std::optional<DoctorCase> examine_run(const SnapshotInputs& inputs, const SnapshotCase& found) {
  const ModelSizes& sizes = found.inferred.sizes;
  CaseInputs run;
  run.config = inputs.config;
  if (!found.has_config) {
    if (!sizes.is_known() || sizes.tokens <= 0 || !found.inferred.model.is_gpt) return std::nullopt;
    const std::vector<std::string> keys = keys_of(sizes);
    run.config.insert(run.config.end(), keys.begin(), keys.end());
  }
  if (ran_eagerly(found.inferred) && !names_setting(run.config, "compile"))
    run.config.emplace_back("--compile=False");
  run.older_pytorch = inputs.older_pytorch;
  run.vocabulary_of = inputs.vocabulary_of;
  run.max_layers = inputs.max_layers;
  run.depth = CaseDepth::kModel;
  DoctorCase c = examine(std::move(run));
  if (!c.memory) return c;
  // What PyTorch could have of the card was seen when it failed.
  if (found.failure) {
    c.card_bytes = found.failure->reserved_bytes + found.failure->device_free_bytes +
                   c.memory->context_range.high_bytes;
  }
  c.need = fixes::torch_need(*c.memory, c.card_bytes);
  if (inputs.with_fixes)
    c.fixes = fixes::torch_fixes(c.config, c.memory->run, c.card_bytes, c.card, nullptr);
  return c;
}

// A config file, or a key of the run; --card and --color say nothing of it.
bool describes_run(const std::vector<std::string>& words) {
  return std::any_of(words.begin(), words.end(), [](const std::string& word) {
    return !word.starts_with("--card=") && !word.starts_with("--color");
  });
}

// What only the config knows: the snapshot's own sizes come first.
void fill_from(const torch::TorchRun& run, ModelSizes& sizes) {
  const ModelSizes told = sizes_of(run);
  if (!sizes.is_known()) {
    sizes = told;
  } else if (sizes.tokens == 0) {
    sizes.tokens = told.tokens;
  }
  const bool same_width = sizes.width == told.width;
  if (sizes.heads == 0 && same_width) sizes.heads = told.heads;
}

}  // namespace

SnapshotCase examine_snapshot(SnapshotInputs inputs) {
  SnapshotCase found;
  found.has_config = describes_run(inputs.config);
  found.snapshot = std::move(inputs.snapshot);
  found.inferred = infer_model(found.snapshot);
  const ModelSizes inferred_sizes = found.inferred.sizes;
  const auto look = [&] {
    found.names = name_all(found.snapshot, found.inferred);
    found.now = held_now(found.snapshot, found.names);
    if (found.snapshot.trace.out_of_memory)
      found.failure = failure_in(found.snapshot, found.inferred, found.names);
  };
  look();
  found.doctor = examine_run(inputs, found);
  if (found.has_config && found.doctor && found.doctor->memory) {
    fill_from(found.doctor->memory->run, found.inferred.sizes);
    look();
  }
  found.free = free_now(found.snapshot);
  found.timeline = timeline_of(found.snapshot, found.names);
  if (found.doctor && found.doctor->memory)
    found.comparison = compare(*found.doctor->memory, inferred_sizes, found.moment());
  return found;
}

}  // namespace snug::doctor::snapshot
