#include "train/resume.h"

#include <fmt/format.h>

#include <filesystem>

namespace snug {
namespace {

constexpr std::string_view kLater = "at iteration ";

void tell_earlier_fits(const std::vector<std::string>& lines, LoadedConfig& config) {
  for (const std::string& line : lines) {
    config.notices.push_back(
        fmt::format("{}{}", line.starts_with(kLater) ? "" : "when this run started, ", line));
  }
}

void tell_other_training(const Config& before, LoadedConfig& config) {
  const Config& now = config.values;
  const auto sequences = [](const Config& c) {
    return c.batch_size * c.gradient_accumulation_steps;
  };
  if (sequences(before) == sequences(now) && before.seed == now.seed) return;
  config.notices.push_back(fmt::format(
      "the effective batch was {} with seed {}, now it is {} with seed {}: training goes on, "
      "but not as it would have",
      sequences(before), before.seed, sequences(now), now.seed));
}

}  // namespace

std::optional<ResumePoint> take_resume_point(const CheckpointStore& store, LoadedConfig& config) {
  const auto found = store.peek();
  if (!found) return std::nullopt;
  ResumePoint point;
  point.state = found->state;
  const Config before = config_from_json(found->state.config_json);
  take_model_keys(found->state.config_json, config);
  tell_earlier_fits(found->state.fit_changes, config);
  tell_other_training(before, config);
  if (!config.is_set("fit") && !config.is_set("safest")) {
    point.fit = before.fit;
    point.safest = before.safest;
  }
  return point;
}

void take_model_keys(const std::string& checkpoint_config_json, LoadedConfig& config) {
  const Config saved = config_from_json(checkpoint_config_json);
  Origin from_checkpoint;
  from_checkpoint.kind = Origin::Kind::kCheckpoint;
  const auto take = [&](const char* key, auto& now, auto before) {
    if (config.is_set(key) && now != before) {
      config.notices.push_back(
          fmt::format("{} = {} comes from the checkpoint, not {}", key, before, now));
    }
    now = before;
    config.origins[key] = from_checkpoint;
  };
  Config& now = config.values;
  take("n_layer", now.n_layer, saved.n_layer);
  take("n_head", now.n_head, saved.n_head);
  take("n_embd", now.n_embd, saved.n_embd);
  take("block_size", now.block_size, saved.block_size);
  take("bias", now.bias, saved.bias);
  take("vocab_size", now.vocab_size, saved.vocab_size);
  take("optimizer_dtype", now.optimizer_dtype, saved.optimizer_dtype);
  resolve(config);
}

void remember_fit(TrainingState& state, const std::vector<std::string>& lines, bool resumed) {
  if (!resumed) {
    state.fit_changes = lines;
    return;
  }
  const auto changes_of = [](const std::string& line) { return line.substr(line.find("fit: ")); };
  const std::string& now = lines.back();
  const bool is_known = !state.fit_changes.empty() && changes_of(state.fit_changes.back()) == now;
  if (lines.size() < 2 || is_known) return;
  state.fit_changes.push_back(fmt::format("{}{}, {}", kLater, state.iteration, now));
}

std::string earlier_run_note(const std::string& out_dir) {
  int number = 0;
  while (std::filesystem::exists(fmt::format("{}/earlier-{}", out_dir, number + 1))) ++number;
  return number == 0 ? "" : fmt::format(" (an earlier run is in {}/earlier-{})", out_dir, number);
}

}  // namespace snug
