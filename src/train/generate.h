// `snug sample`: text from a trained model, with a key/value cache.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "checkpoint/checkpoint_store.h"
#include "config/config.h"
#include "device/device.h"
#include "formats/source.h"
#include "plan/run_plan.h"

namespace snug::train {

// Draws tokens one by one. A token depends on the seed, the sample's number, its position and the
// tokens before it.
class Generator {
 public:
  // `run` is a sampling plan; it must outlive the generator. Takes its memory on the device.
  Generator(const plan::RunPlan& run, const device::Device& device);

  // The weights of the store's newest usable checkpoint; throws as CheckpointStore::load.
  checkpoint::Loaded load(const checkpoint::CheckpointStore& store);
  void load(const formats::Source& source);

  backend::Executor& executor() { return *executor_; }

  // The logits after `tokens`, at most as many as the window, in the generator's own memory.
  std::span<const float> logits_after_all(std::span<const std::int32_t> tokens);

  struct Settings {
    std::uint64_t seed = 1337;
    double temperature = 0.8;  // 0: always the likeliest, of equal ones the first
    std::int64_t top_k = 200;  // 0 or more than the vocabulary: all
    double top_p = 1;          // of these the likeliest that add up to this share
    std::int64_t max_new_tokens = 500;
    std::int64_t token_count = 0;  // only ids below it are drawn; 0: all of the vocabulary
  };
  // Appends to `tokens`, calling `on_token` for each one drawn; stops early when that returns
  // false. As in nanoGPT, a context that has outgrown the window is cut to its last positions, and
  // these are all computed anew. Throws DataError for an id in `tokens` that the model does not
  // have, and when the weights are not finite.
  void generate(const Settings& settings, std::uint32_t sample_index,
                std::vector<std::int32_t>& tokens,
                const std::function<bool(std::int32_t)>& on_token);

 private:
  // The logits of the token that follows, in logits_.
  std::span<const float> logits_after(std::span<const std::int32_t> tokens);
  void prefill(std::span<const std::int32_t> tokens);
  void decode(std::int32_t token, std::int64_t position);
  void check_ids(std::span<const std::int32_t> tokens) const;
  std::int32_t draw(const Settings& settings, std::span<const float> logits, double uniform);

  const plan::RunPlan& run_;
  const std::unique_ptr<backend::Executor> executor_;
  const program::Phase &prefill_, &decode_;
  std::int64_t window_;
  std::int64_t cached_ = 0;          // positions whose keys and values are in the cache
  std::vector<std::int32_t> order_;  // the vocabulary, for choosing the top_k
  std::vector<std::int32_t> input_;  // of a prefill: the window, padded with token 0
  std::vector<float> logits_;
};

// Loads the newest checkpoint of out_dir and prints num_samples texts, each followed by a line of
// 15 dashes, as nanoGPT's sample.py does. Returns the exit code: 0, or that of a signal.
int sample(config::LoadedConfig config);

}  // namespace snug::train
