#include "profile/step_profile.h"

#include <chrono>
#include <functional>

#include "backend/cpu/bandwidth.h"
#include "backend/cuda/card.h"
#include "fit/rates.h"
#include "report/plan/refusal.h"
#include "report/plan/words.h"
#include "train/random_run.h"

namespace snug::profile {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kWarmUpIterations = 2, kMinIterations = 3;

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

// On the processor an op lasts until the next one begins, or the iteration ends.
class ProcessorWatch {
 public:
  ProcessorWatch(train::RandomRun& run, OpTimeTable& table) : run_(run), table_(table) {
    run.executor().observe([this](const program::Phase& phase, const ops::Op& op,
                                  std::int64_t first, std::int64_t end_row) {
      end();
      current_ = {.phase = &phase, .op = &op, .row_count = end_row - first};
      start_ = Clock::now();
    });
  }
  ~ProcessorWatch() { run_.executor().observe({}); }
  ProcessorWatch(const ProcessorWatch&) = delete;
  ProcessorWatch& operator=(const ProcessorWatch&) = delete;

  void step(std::int64_t iteration) {
    origin_ = Clock::now();
    run_.engine().step(iteration);
    end();
  }

 private:
  void end() {
    const Clock::time_point now = Clock::now();
    if (current_.op == nullptr) return;
    current_.start_seconds = seconds_between(origin_, start_);
    current_.seconds = seconds_between(start_, now);
    table_.add(current_);
    current_ = {};
  }

  train::RandomRun& run_;
  OpTimeTable& table_;
  WatchedOp current_;
  Clock::time_point origin_, start_;
};

// On a card by its own clock, one op after the other.
void step_on_card(train::RandomRun& run, OpTimeTable& table, const fit::Rates& rates,
                  std::int64_t iteration) {
  double at = 0;
  for (const cuda::TimedOp& timed :
       cuda::time_ops(run.engine().executor(), [&] { run.engine().step(iteration); })) {
    const auto index = static_cast<std::size_t>(timed.op - timed.phase->ops.data());
    table.add(
        {.phase = timed.phase,
         .op = timed.op,
         .row_count = timed.row_count,
         .start_seconds = at,
         .seconds = timed.seconds,
         .predicted_seconds = fit::op_seconds(rates, run.plan().program, *timed.phase, index)});
    at += timed.seconds;
  }
}

void watch(OpTimeTable& table, double seconds, const std::function<void(std::int64_t)>& step) {
  const Clock::time_point start = Clock::now();
  for (std::int64_t i = 0; i < kMinIterations || seconds_between(start, Clock::now()) < seconds;
       ++i) {
    table.begin_iteration();
    step(kWarmUpIterations + i);
    table.end_iteration();
  }
}

void require_fit(const config::Config& config, const device::Device& device) {
  const auto planned = plan::plan_training(config, config.vocab_size, device.target());
  if (planned->total_bytes() <= device.budget().usable_bytes) return;
  throw report::does_not_fit(*planned, device.budget(), report::language_of(config));
}

}  // namespace

StepProfile profile_steps(const config::Config& config, std::unique_ptr<device::Device> device,
                          double seconds) {
  require_fit(config, *device);
  const bool on_card = device->target().space() == Space::kDevice;
  const fit::Rates rates =
      on_card ? device->rates(config, config.vocab_size) : fit::Rates();  // predictions of a card
  double byte_rate = on_card ? 0 : cpu::measure_bandwidth();
  constexpr std::int64_t kMoreTokens = 5000;
  train::RandomRun run(config, std::move(device), config.block_size + kMoreTokens, {});
  const double flop_rate = run.engine().executor().measure_peak_flops();
  if (on_card) byte_rate = cuda::measure_copy_rate(run.engine().executor());
  run.engine().initialize();  // measuring has overwritten the weights
  for (std::int64_t i = 0; i < kWarmUpIterations; ++i) run.engine().step(i);

  OpTimeTable table(run.plan().program);
  if (on_card) {
    watch(table, seconds, [&](std::int64_t i) { step_on_card(run, table, rates, i); });
  } else {
    ProcessorWatch processor(run, table);
    watch(table, seconds, [&](std::int64_t i) { processor.step(i); });
  }
  StepProfile profile = table.result();
  profile.flop_rate = flop_rate;
  profile.byte_rate = byte_rate;
  return profile;
}

}  // namespace snug::profile
