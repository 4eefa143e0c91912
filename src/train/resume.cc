#include "train/resume.h"

#include <fmt/format.h>

#include <filesystem>

#include "train/fit_story.h"

namespace snug {
namespace {

void tell_other_training(const Config& before, LoadedConfig& config) {
  const Config& now = config.values;
  const std::int64_t earlier = effective_batch_of(before), current = effective_batch_of(now);
  if (earlier == current && before.seed == now.seed) return;
  config.notices.push_back(fmt::format(
      "the effective batch was {} with seed {}, now it is {} with seed {}: training goes on, "
      "but not as it would have",
      earlier, before.seed, current, now.seed));
}

}  // namespace

std::optional<ResumePoint> take_resume_point(const CheckpointStore& store, LoadedConfig& config) {
  const auto found = store.peek();
  if (!found) return std::nullopt;
  ResumePoint point;
  point.state = found->state;
  const Config before = config_from_json(found->state.config_json);
  take_model_keys(found->state.config_json, config);
  const std::vector<std::string> story = fit_story(found->state);
  config.notices.insert(config.notices.end(), story.begin(), story.end());
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

std::string earlier_run_note(const std::string& out_dir) {
  int number = 0;
  while (std::filesystem::exists(fmt::format("{}/earlier-{}", out_dir, number + 1))) ++number;
  return number == 0 ? "" : fmt::format(" (an earlier run is in {}/earlier-{})", out_dir, number);
}

}  // namespace snug
