#include "profile/step_profile.h"

#include <chrono>

#include "fit/rates.h"
#include "report/plan/refusal.h"
#include "report/plan/words.h"
#include "train/random_run.h"

namespace snug::profile {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kWarmUpIterations = 2, kMinIterations = 3;

void require_fit(const config::Config& config, const device::Device& device) {
  const auto planned = plan::plan_training(config, config.vocab_size, device.target());
  if (planned->total_bytes() <= device.budget().usable_bytes) return;
  throw report::does_not_fit(*planned, device.budget(), report::language_of(config));
}

}  // namespace

StepProfile profile_steps(const config::Config& config, std::unique_ptr<device::Device> device,
                          double seconds) {
  require_fit(config, *device);
  const fit::Rates rates = device->rates(config, config.vocab_size);
  constexpr std::int64_t kMoreTokens = 5000;
  train::RandomRun run(config, std::move(device), config.block_size + kMoreTokens, {});
  const program::Program& program = run.plan().program;
  const auto predicted = [&](const program::Phase& phase, std::size_t op) {
    return fit::op_seconds(rates, program, phase, op);
  };
  backend::Executor& executor = run.engine().executor();
  const double flop_rate = executor.measure_peak_flops();
  const double byte_rate = executor.measure_byte_rate();
  run.engine().initialize();  // measuring has overwritten the weights

  std::int64_t iteration = 0;
  while (iteration < kWarmUpIterations) run.engine().step(iteration++);
  OpTimeTable table(program);
  const Clock::time_point start = Clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  while (iteration < kWarmUpIterations + kMinIterations || elapsed() < seconds) {
    const auto ops = executor.time_ops([&] { run.engine().step(iteration); });
    table.add_iteration(ops, predicted);
    ++iteration;
  }
  StepProfile profile = table.result();
  profile.flop_rate = flop_rate;
  profile.byte_rate = byte_rate;
  return profile;
}

}  // namespace snug::profile
