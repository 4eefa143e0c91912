// A small training run in memory, for tests of the engine: random data in a temporary folder, a
// config, a plan, an engine.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "backend/cpu/cpu_executor.h"
#include "device/cpu_device.h"
#include "train/checkpoint_list.h"
#include "train/engine.h"

namespace snug {

// A folder that is removed with everything in it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "snug-test-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string path(const std::string& name = "") const {
    return name.empty() ? path_ : path_ + "/" + name;
  }

 private:
  std::string path_;
};

inline void write_tokens(const std::string& path, std::int64_t count, std::int64_t vocab,
                         std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::uint16_t> tokens(static_cast<std::size_t>(count));
  for (auto& token : tokens) token = static_cast<std::uint16_t>(random() % vocab);
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(tokens.data()),
             static_cast<std::streamsize>(tokens.size() * sizeof(std::uint16_t)));
}

// Small, with odd sizes everywhere: nothing is a multiple of a tile or a vector.
inline Config small_config() {
  Config config;
  config.n_layer = 3;
  config.n_head = 3;
  config.n_embd = 33;
  config.block_size = config.eval_block_size = 37;
  config.batch_size = config.eval_batch_size = 12;
  config.gradient_accumulation_steps = 1;
  config.vocab_size = 61;
  config.bias = true;
  config.dropout = 0.1;
  config.learning_rate = 1e-2;
  config.warmup_iters = 0;
  config.max_iters = config.lr_decay_iters = 100;
  config.eval_iters = 2;
  config.seed = 7;
  return config;
}

class SmallRun {
 public:
  // `token_count` random tokens: a few hundred can be learnt by heart, thousands cannot.
  // `tight`: ops are granted no more scratch than they booked.
  explicit SmallRun(const Config& config, std::int64_t token_count = 5000, bool tight = false)
      : config_(config),
        device_(config),
        plan_(plan_training(config, config.vocab_size, device_.target())) {
    if (tight) tighten_scratch();
    const TokenFileNeeds needs{config.vocab_size, config.block_size};
    for (const char* name : {"train.bin", "val.bin"}) {
      write_tokens(folder_.path(name), token_count, config.vocab_size, name[0]);
    }
    train_ = std::make_unique<TokenFile>(folder_.path("train.bin"), needs);
    val_ = std::make_unique<TokenFile>(folder_.path("val.bin"), needs);
    engine_ = std::make_unique<TrainingEngine>(config_, *plan_, device_, *train_, *val_);
    engine_->initialize();
  }

  TrainingEngine& engine() { return *engine_; }
  // For tests that look inside a step.
  cpu::CpuExecutor& executor() { return dynamic_cast<cpu::CpuExecutor&>(engine_->executor()); }
  const RunPlan& plan() const { return *plan_; }

  // Every byte of the weights and of the optimizer.
  std::string bytes() {
    std::string all;
    const CheckpointList list(plan_->program);
    run_transfer(engine_->executor(), plan_->program.phase(PhaseKind::kSave),
                 [&](TensorBytes& bytes) {
                   for (const auto& tensors : {list.weights(), list.optimizer()}) {
                     for (const NamedTensor& tensor : tensors) append(tensor, bytes, all);
                   }
                 });
    return all;
  }

  // Every element of the first weight.
  void set_first_weight(float value) {
    const NamedTensor first = CheckpointList(plan_->program).weights()[0];
    run_transfer(engine_->executor(), plan_->program.phase(PhaseKind::kLoad),
                 [&](TensorBytes& bytes) {
                   for_each_piece(first.byte_count(), [&](std::int64_t at, std::int64_t count) {
                     bytes.put(first.id, at, count, [&](std::span<std::byte> piece) {
                       std::fill_n(reinterpret_cast<float*>(piece.data()),
                                   piece.size() / sizeof(float), value);
                     });
                   });
                 });
  }

 private:
  static void append(const NamedTensor& tensor, TensorBytes& bytes, std::string& all) {
    for_each_piece(tensor.byte_count(), [&](std::int64_t at, std::int64_t count) {
      const std::span<const std::byte> piece = bytes.get(tensor.id, at, count);
      all.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    });
  }

  void tighten_scratch() {
    for (std::size_t p = 0; p < plan_->program.phases.size(); ++p) {
      const std::vector<Op>& ops = plan_->program.phases[p].ops;
      for (std::size_t o = 0; o < ops.size(); ++o) {
        plan_->plan.scratch[p][o].byte_count = align_up(ops[o].scratch_bytes, kTensorAlignment);
      }
    }
  }

  Config config_;
  TemporaryFolder folder_;
  CpuDevice device_;
  std::unique_ptr<RunPlan> plan_;
  std::unique_ptr<TokenFile> train_, val_;
  std::unique_ptr<TrainingEngine> engine_;
};

}  // namespace snug
