// Whole training on the fake card with checked kernels: each op may touch its operands and its
// scratch and nothing else of the arena, and reads no byte of them that was not written.
#include <gtest/gtest.h>

#include <memory>
#include <set>

#include "backend/cuda/cuda_executor.h"
#include "base/error.h"
#include "device/cuda_device.h"
#include "emulator/faults.h"
#include "emulator/regions.h"
#include "emulator/watch.h"
#include "engine_testing.h"

namespace snug {
namespace {

// What the checks of a run are told, op by op.
class OperandRegions {
 public:
  // Operands of this name are told four bytes short.
  explicit OperandRegions(std::string shortened) : shortened_(std::move(shortened)) {}

  void begin_op(const cuda::CudaExecutor& executor, const program::Program& program,
                const ops::Op& op, const ops::Op* next, std::span<std::byte> scratch,
                std::int64_t first_row) {
    emulator::forget_regions();
    kinds.emplace(ops::name_of(op));
    std::set<TensorId> read, written;
    const auto name = [&](const ops::Op& named) {
      ops::for_each_operand(named, [&](std::string_view operand, TensorId id, ops::Access access) {
        if (id == kNoTensor || program.tensor(id).space == Space::kPinned) return;
        emulator::name_region(executor.address(id),
                              bytes_of(program, id) - (operand == shortened_ ? 4 : 0),
                              named.label + ": " + program.tensor(id).name);
        (access == ops::Access::kWrite ? written : read).insert(id);
      });
    };
    name(op);
    if (next != nullptr) name(*next);
    // What is only written holds nothing; a loop writes it chunk by chunk.
    for (const TensorId id : written) {
      if (first_row > 0 || read.contains(id)) continue;
      emulator::mark_undefined(executor.address(id), bytes_of(program, id));
    }
    if (scratch.empty()) return;
    emulator::name_region(scratch.data(), scratch.size(), op.label + ": scratch");
    emulator::mark_undefined(scratch.data(), scratch.size());
  }

  std::set<std::string> kinds;  // of the ops that ran

 private:
  static std::size_t bytes_of(const program::Program& program, TensorId id) {
    return static_cast<std::size_t>(program.tensor(id).byte_count());
  }

  std::string shortened_;
};

class CheckedDevice : public device::CudaDevice {
 public:
  CheckedDevice(const config::Config& config, OperandRegions& regions)
      : device::CudaDevice(config), regions_(regions) {}

  std::unique_ptr<backend::Executor> make_executor(const program::Program& program,
                                                   const plan::Plan& plan) const override {
    auto executor = device::CudaDevice::make_executor(program, plan);
    auto& on_card = dynamic_cast<cuda::CudaExecutor&>(*executor);
    on_card.observe_starts([&regions = regions_, &on_card, &program](
                               const ops::Op& op, const ops::Op* next, std::span<std::byte> scratch,
                               std::int64_t first_row) {
      regions.begin_op(on_card, program, op, next, scratch, first_row);
    });
    return executor;
  }

 private:
  OperandRegions& regions_;
};

config::Config checked_config(const std::string& dtype, const std::string& card) {
  config::Config config = small_config();
  config.device = "emulated";
  config.card = card;
  config.dtype = dtype;
  config.n_layer = 2;
  config.batch_size = 2;
  config.eval_batch_size = 3;
  config.eval_iters = 1;
  config.gradient_accumulation_steps = 2;
  config.checkpoint_blocks = 1;
  config.loss_chunk = 2 * config.block_size;
  return config;
}

// Evaluation, two updates of two micro-steps, and all bytes once through the save phase.
void run_checked(const config::Config& config, OperandRegions& regions) {
  emulator::watch_kernels();
  train::RandomRun run(config, std::make_unique<CheckedDevice>(config, regions), 5000, nullptr);
  run.engine().evaluate(train::Split::kVal, 0);
  for (const std::int64_t iteration : {0, 1}) {
    EXPECT_TRUE(run.engine().step(iteration).updated);
  }
  const train::CheckpointList list(run.plan().program);
  backend::run_transfer(
      run.engine().executor(), run.plan().program.phase(program::PhaseKind::kSave),
      [&](TensorBytes& bytes) {
        for (const checkpoint::NamedTensor& tensor : list.weights()) {
          bytes.get(tensor.id, 0, std::min<std::int64_t>(tensor.byte_count(), 64));
        }
      });
  emulator::forget_regions();
}

void expect_clean(const std::string& dtype, const std::string& card) {
  OperandRegions regions("");
  run_checked(checked_config(dtype, card), regions);
  const std::vector<emulator::Fault> faults = emulator::take_faults();
  EXPECT_TRUE(faults.empty()) << faults.front().describe();
  for (const char* kind : {"embed", "attention_backward", "layernorm", "adamw", "cross_entropy"}) {
    EXPECT_TRUE(regions.kinds.contains(kind)) << kind;
  }
}

TEST(CheckedRun, Bfloat16StaysWithinOperands) { expect_clean("bfloat16", "rtx3060"); }
TEST(CheckedRun, Float32StaysWithinOperands) { expect_clean("float32", "rtx3060"); }
TEST(CheckedRun, Float16OnTuringStaysWithinOperands) { expect_clean("float16", "rtx2060"); }

// The neighbour's bytes belong to the same allocation, and yet the access is noticed.
TEST(CheckedRun, AnAccessBesideAnOperandIsNoticed) {
  emulator::print_faults(false);
  OperandRegions regions("dgamma");
  EXPECT_THROW(run_checked(checked_config("float32", "rtx3060"), regions), DeviceError);
  const std::vector<emulator::Fault> faults = emulator::take_faults();
  emulator::print_faults(true);
  ASSERT_FALSE(faults.empty());
  EXPECT_EQ(faults.front().kind, emulator::FaultKind::kOutOfBounds);
  EXPECT_NE(faults.front().text.find("ln_f.weight"), std::string::npos) << faults.front().text;
}

}  // namespace
}  // namespace snug
