// A training run of any config on random tokens, for profiles, benchmarks and tests: the data in a
// temporary folder, a plan for a device, by default the CPU, an engine.
#pragma once

#include <cstdint>
#include <fstream>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/temporary_folder.h"
#include "data/token_file.h"
#include "device/cpu_device.h"
#include "train/engine.h"

namespace snug::train {

inline void write_random_tokens(const std::string& path, std::int64_t count, std::int64_t vocab,
                                std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::uint16_t> tokens(static_cast<std::size_t>(count));
  for (auto& token : tokens) token = static_cast<std::uint16_t>(random() % vocab);
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(tokens.data()),
             static_cast<std::streamsize>(tokens.size() * sizeof(std::uint16_t)));
}

class RandomRun {
 public:
  // `token_count` random tokens: a few hundred can be learnt by heart, thousands cannot.
  // `adjust` may change the plan before the engine is made.
  explicit RandomRun(const config::Config& config, std::int64_t token_count = 5000,
                     const std::function<void(plan::RunPlan&)>& adjust = {})
      : RandomRun(config, std::make_unique<device::CpuDevice>(config), token_count, adjust) {}
  RandomRun(const config::Config& config, std::unique_ptr<device::Device> device,
            std::int64_t token_count, const std::function<void(plan::RunPlan&)>& adjust)
      : config_(config),
        device_(std::move(device)),
        plan_(plan::plan_training(config, config.vocab_size, device_->target())) {
    if (adjust) adjust(*plan_);
    const data::TokenFileNeeds needs{config.vocab_size, config.block_size};
    for (const char* name : {"train.bin", "val.bin"}) {
      write_random_tokens(folder_.path(name), token_count, config.vocab_size, name[0]);
    }
    train_ = std::make_unique<data::TokenFile>(folder_.path("train.bin"), needs);
    val_ = std::make_unique<data::TokenFile>(folder_.path("val.bin"), needs);
    engine_ = std::make_unique<TrainingEngine>(config_, *plan_, *device_, *train_, *val_);
    engine_->initialize();
  }

  TrainingEngine& engine() { return *engine_; }
  const device::Device& device() const { return *device_; }
  const plan::RunPlan& plan() const { return *plan_; }

 private:
  config::Config config_;
  TemporaryFolder folder_;
  std::unique_ptr<device::Device> device_;
  std::unique_ptr<plan::RunPlan> plan_;
  std::unique_ptr<data::TokenFile> train_, val_;
  std::unique_ptr<TrainingEngine> engine_;
};

}  // namespace snug::train
