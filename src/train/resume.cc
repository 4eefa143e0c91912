#include "train/resume.h"

#include <fmt/format.h>

#include <filesystem>

#include "config/fields.h"
#include "formats/format.h"
#include "train/fit_story.h"

namespace snug::train {
namespace {

bool decides_training(const config::Field& field) {
  if (field.is_ignored() || field.group == config::Group::kSampling) return false;
  return field.group == config::Group::kLearning || field.group == config::Group::kData ||
         field.key == "dropout" || field.key == "dtype";
}

// Every setting that makes the run another than it was; what a checkpoint decides is not among
// them.
void tell_other_training(const config::Config& before, config::LoadedConfig& config) {
  const config::Config& now = config.values;
  std::string changes;
  for (const config::Field& field : config::all_fields()) {
    if (!decides_training(field)) continue;
    const std::string was = config::python_repr(config::field_value(before, field));
    const std::string is = config::python_repr(config::field_value(now, field));
    if (was != is) changes += fmt::format("\n  {}: was {}, is {}", field.key, was, is);
  }
  if (!changes.empty()) {
    config.notices.push_back("settings that the checkpoint was trained with have changed:" +
                             changes);
  }
  const std::int64_t earlier = config::effective_batch_of(before),
                     current = config::effective_batch_of(now);
  if (earlier == current && before.seed == now.seed) return;
  config.notices.push_back(fmt::format(
      "the effective batch was {} with seed {}, now it is {} with seed {}: training goes on, "
      "but not as it would have",
      earlier, before.seed, current, now.seed));
}

// Only when it is further on than `iteration`.
std::optional<ResumePoint> take_nanogpt(config::LoadedConfig& config, std::int64_t iteration) {
  const std::filesystem::path file = std::filesystem::path(config.values.out_dir) / "ckpt.pt";
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return std::nullopt;
  formats::Source source = formats::open_checkpoint(file);
  if (source.state.iteration <= iteration) {
    config.notices.push_back(
        fmt::format("{} is not further on than Snug's own checkpoint ({} and {} "
                    "iterations): it is left alone",
                    file.string(), source.state.iteration, iteration));
    return std::nullopt;
  }
  for (const std::string& notice : source.notices) {
    config.notices.push_back(fmt::format("{}: {}", source.name, notice));
  }
  ResumePoint point;
  point.state = source.state;
  take_model_keys(source.state.config_json, config);
  tell_other_training(config::config_from_json(source.state.config_json), config);
  point.foreign = std::move(source);
  return point;
}

}  // namespace

std::optional<ResumePoint> take_resume_point(const checkpoint::CheckpointStore& store,
                                             config::LoadedConfig& config) {
  const auto found = store.peek();
  if (auto foreign = take_nanogpt(config, found ? found->state.iteration : -1)) return foreign;
  if (!found) return std::nullopt;
  ResumePoint point;
  point.state = found->state;
  const config::Config before = config::config_from_json(found->state.config_json);
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

void take_model_keys(const std::string& checkpoint_config_json, config::LoadedConfig& config) {
  const config::Config saved = config::config_from_json(checkpoint_config_json);
  config::Origin from_checkpoint;
  from_checkpoint.kind = config::Origin::Kind::kCheckpoint;
  const auto take = [&](const char* key, auto& now, auto before) {
    if (config.is_set(key) && now != before) {
      config.notices.push_back(
          fmt::format("{} = {} comes from the checkpoint, not {}", key, before, now));
    }
    now = before;
    config.origins[key] = from_checkpoint;
  };
  config::Config& now = config.values;
  take("n_layer", now.n_layer, saved.n_layer);
  take("n_head", now.n_head, saved.n_head);
  take("n_embd", now.n_embd, saved.n_embd);
  take("block_size", now.block_size, saved.block_size);
  take("bias", now.bias, saved.bias);
  take("gelu", now.gelu, saved.gelu);
  take("vocab_size", now.vocab_size, saved.vocab_size);
  take("optimizer_dtype", now.optimizer_dtype, saved.optimizer_dtype);
  config::resolve(config);
}

std::string earlier_run_note(const std::string& out_dir) {
  int number = 0;
  while (std::filesystem::exists(fmt::format("{}/earlier-{}", out_dir, number + 1))) ++number;
  return number == 0 ? "" : fmt::format(" (an earlier run is in {}/earlier-{})", out_dir, number);
}

}  // namespace snug::train
