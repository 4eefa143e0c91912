// The seam between host and device, held by a device that the host cannot look into.
#include "remote_device.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "engine_testing.h"
#include "gpt2/spec.h"
#include "train/generate.h"

namespace snug {
namespace {

TEST(RemoteDeviceDeathTest, TheHostCannotDereferenceATensor) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  SmallRun run(small_config(), TestDevice::kRemote);
  run.engine().step(0);
  run.engine().executor().wait();
  const cpu::TensorView weight = run.executor().view(run.plan().program.weights[0]);
  EXPECT_DEATH({ *static_cast<volatile std::byte*>(weight.data) = std::byte{1}; }, "");
}

TEST(RemoteDevice, RefusesAPlanThatIsLargerThanItsCapacity) {
  const config::Config config = small_config();
  const auto planned =
      plan::plan_training(config, config.vocab_size, RemoteDevice(config).target());
  const std::int64_t bytes = planned->plan.arena_bytes;
  EXPECT_NO_THROW(RemoteDevice(config, bytes).make_executor(planned->program, planned->plan));
  EXPECT_THROW(RemoteDevice(config, bytes - 1).make_executor(planned->program, planned->plan),
               CapacityError);
}

// run() only starts the work: what goes wrong in it comes to light where the host waits for it.
TEST(RemoteDevice, ErrorsOfStartedWorkSurfaceAtTheNextWait) {
  SmallRun run(small_config(), TestDevice::kRemote);
  const std::string before = run.bytes();
  backend::Executor& executor = run.engine().executor();
  const backend::HostTransfer failing = [](TensorBytes&) { throw DataError("damaged"); };
  backend::StepContext context;
  context.transfer = &failing;
  EXPECT_NO_THROW(executor.run(run.plan().program.phase(program::PhaseKind::kLoad), context));
  EXPECT_THROW(executor.wait(), DataError);
  EXPECT_TRUE(run.bytes() == before);
}

// What a training run leaves: losses, state, and text that the saved model writes.
struct Outcome {
  std::vector<double> losses;
  std::string bytes;
  std::vector<std::int32_t> text;
};

std::vector<std::int32_t> text_of(const checkpoint::CheckpointStore& store,
                                  const config::Config& config, const device::Device& device) {
  const auto plan = plan::plan_sampling(gpt2::make_model_spec(config, config.vocab_size),
                                        config.block_size, DType::kF32, device.target());
  train::Generator generator(*plan, device);
  generator.load(store);
  std::vector<std::int32_t> tokens = {3, 1, 4};
  train::Generator::Settings settings;
  settings.max_new_tokens = 60;  // more than the window: prefill and decode both run
  generator.generate(settings, 0, tokens, [](std::int32_t) { return true; });
  return tokens;
}

void train(SmallRun& run, std::int64_t first, std::int64_t end, Outcome& outcome) {
  for (std::int64_t iteration = first; iteration < end; ++iteration) {
    outcome.losses.push_back(*run.engine().evaluate(train::Split::kVal, iteration));
    outcome.losses.push_back(run.engine().step(iteration).loss);
  }
}

// Evaluation, training, a save after two iterations; then, as after a kill, another engine resumes
// from it and goes on.
Outcome whole_run(TestDevice kind) {
  const config::Config config = small_config();
  const TemporaryFolder folder;
  Outcome outcome;
  checkpoint::CheckpointStore store(folder.path("out"), 1);
  {
    SmallRun run(config, kind);
    run.engine().executor().measure_peak_flops();
    run.engine().initialize();
    train(run, 0, 2, outcome);
    checkpoint::TrainingState state;
    state.iteration = 2;
    state.config_json = "{}";
    run.engine().save(store, state, false);
    run.engine().step(2);  // lost
  }
  SmallRun resumed(config, kind);
  EXPECT_EQ(resumed.engine().load(store).state.iteration, 2);
  train(resumed, 2, 4, outcome);
  outcome.bytes = resumed.bytes();
  outcome.text = text_of(store, config, resumed.device());
  return outcome;
}

TEST(RemoteDevice, AWholeRunHasTheCpusBits) {
  const Outcome here = whole_run(TestDevice::kCpu), remote = whole_run(TestDevice::kRemote);
  EXPECT_EQ(remote.losses, here.losses);
  EXPECT_TRUE(remote.bytes == here.bytes);
  EXPECT_EQ(remote.text, here.text);
  EXPECT_EQ(here.text.size(), 63u);
}

}  // namespace
}  // namespace snug
