// A small training run for tests of the engine: its config, and the bytes that it has trained.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "remote_device.h"
#include "train/checkpoint_list.h"
#include "train/random_run.h"

namespace snug {

// Small, with odd sizes everywhere: nothing is a multiple of a tile or a vector.
inline config::Config small_config() {
  config::Config config;
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

// Where a SmallRun runs. The laws hold on every device: SNUG_TEST_DEVICE=remote runs the same tests
// on a device that the host cannot look into.
enum class TestDevice { kCpu, kRemote };

inline TestDevice device_under_test() {
  const char* name = std::getenv("SNUG_TEST_DEVICE");
  return name != nullptr && std::string(name) == "remote" ? TestDevice::kRemote : TestDevice::kCpu;
}

inline std::unique_ptr<device::Device> make_device(TestDevice kind, const config::Config& config) {
  if (kind == TestDevice::kRemote) return std::make_unique<RemoteDevice>(config);
  return std::make_unique<device::CpuDevice>(config);
}

// Every byte of the weights and of the optimizer.
inline std::string state_bytes(train::RandomRun& run) {
  std::string all;
  const auto append = [&](const checkpoint::NamedTensor& tensor, TensorBytes& bytes) {
    for_each_piece(tensor.byte_count(), [&](std::int64_t at, std::int64_t count) {
      const std::span<const std::byte> piece = bytes.get(tensor.id, at, count);
      all.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    });
  };
  const program::Program& program = run.plan().program;
  const train::CheckpointList list(program);
  backend::run_transfer(run.engine().executor(), program.phase(program::PhaseKind::kSave),
                        [&](TensorBytes& bytes) {
                          for (const auto& tensors : {list.weights(), list.optimizer()}) {
                            for (const auto& tensor : tensors) append(tensor, bytes);
                          }
                        });
  return all;
}

class SmallRun : public train::RandomRun {
 public:
  // `tight`: ops are granted no more scratch than they booked.
  explicit SmallRun(const config::Config& config, std::int64_t token_count = 5000,
                    bool tight = false)
      : SmallRun(config, device_under_test(), token_count, tight) {}
  SmallRun(const config::Config& config, TestDevice kind, std::int64_t token_count = 5000,
           bool tight = false)
      : train::RandomRun(config, make_device(kind, config), token_count,
                         tight ? tighten_scratch : nullptr) {}

  // For tests that look inside a step, on either device.
  cpu::CpuExecutor& executor() {
    auto* remote = dynamic_cast<RemoteExecutor*>(&engine().executor());
    return remote != nullptr ? remote->inner()
                             : dynamic_cast<cpu::CpuExecutor&>(engine().executor());
  }

  std::string bytes() { return state_bytes(*this); }

  // Every element of the first weight.
  void set_first_weight(float value) {
    const checkpoint::NamedTensor first = train::CheckpointList(plan().program).weights()[0];
    backend::run_transfer(engine().executor(), plan().program.phase(program::PhaseKind::kLoad),
                          [&](TensorBytes& bytes) {
                            for_each_piece(
                                first.byte_count(), [&](std::int64_t at, std::int64_t count) {
                                  bytes.put(first.id, at, count, [&](std::span<std::byte> piece) {
                                    std::fill_n(reinterpret_cast<float*>(piece.data()),
                                                piece.size() / sizeof(float), value);
                                  });
                                });
                          });
  }

 private:
  static void tighten_scratch(plan::RunPlan& run) {
    for (std::size_t p = 0; p < run.program.phases.size(); ++p) {
      const std::vector<ops::Op>& ops = run.program.phases[p].ops;
      for (std::size_t o = 0; o < ops.size(); ++o) {
        run.plan.scratch[p][o].byte_count =
            align_up(ops[o].scratch_bytes, plan::alignment_in(run.plan.space));
      }
    }
  }
};

}  // namespace snug
