#include "train/card_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "backend/cuda/card.h"
#include "fit/rates.h"
#include "report/plan/refusal.h"
#include "report/plan/words.h"
#include "train/profile_times.h"
#include "train/random_run.h"

namespace snug::train {
namespace {

using Clock = std::chrono::steady_clock;

// Sums what one iteration after the other did, by phase and kind of op.
class CardTable {
 public:
  CardTable(const plan::RunPlan& run, const fit::Rates& rates) : run_(run), rates_(rates) {}

  void add_iteration(const std::vector<cuda::TimedOp>& ops) {
    now_.clear();
    events_.clear();
    double at = 0;
    for (const cuda::TimedOp& timed : ops) {
      add(timed);
      events_.push_back({timed.op->label, std::string(ops::name_of(*timed.op)),
                         std::string(name_of(timed.phase->kind)), at, timed.seconds});
      at += timed.seconds;
    }
    for (const auto& [key, times] : now_) seconds_[key].push_back(times.median_seconds);
    iterations_.push_back(at);
  }

  StepProfile result() const {
    StepProfile profile;
    for (const auto& [key, times] : now_) {
      OpTimes row = times;
      row.median_seconds = quantile(seconds_.at(key), 0.5);
      row.quiet_seconds = quantile(seconds_.at(key), kQuiet);
      profile.predicted_seconds += row.predicted_seconds;
      profile.ops.push_back(std::move(row));
    }
    std::ranges::sort(profile.ops, std::greater(), &OpTimes::median_seconds);
    profile.events = events_;
    profile.iterations = std::ssize(iterations_);
    profile.median_seconds = quantile(iterations_, 0.5);
    profile.quiet_seconds = quantile(iterations_, kQuiet);
    return profile;
  }

 private:
  void add(const cuda::TimedOp& timed) {
    const program::Phase& phase = *timed.phase;
    const auto index = static_cast<std::size_t>(timed.op - phase.ops.data());
    const ops::Shapes shapes = program::shapes_of(run_.program, phase, index);
    const ops::Work work = ops::work_of(*timed.op, shapes);
    // An op of a loop runs once per chunk, on its part of the rows.
    const double part = shapes.loop == nullptr ? 1
                                               : static_cast<double>(timed.row_count) /
                                                     static_cast<double>(shapes.row_count());
    OpTimes& times = now_[fmt::format("{} {}", name_of(phase.kind), ops::name_of(*timed.op))];
    times.phase = name_of(phase.kind);
    times.op = ops::name_of(*timed.op);
    times.calls += 1;
    times.flops += work.flops * part;
    times.bytes += work.bytes * part;
    times.median_seconds += timed.seconds;
    times.predicted_seconds += fit::op_seconds(rates_, run_.program, phase, index) * part;
  }

  const plan::RunPlan& run_;
  const fit::Rates rates_;
  std::map<std::string, OpTimes> now_;  // of the last iteration
  std::map<std::string, std::vector<double>> seconds_;
  std::vector<double> iterations_;
  std::vector<OpEvent> events_;
};

}  // namespace

StepProfile profile_card(const config::Config& config, std::unique_ptr<device::Device> card,
                         double seconds) {
  const fit::Rates rates = card->rates(config, config.vocab_size);
  const auto planned = plan::plan_training(config, config.vocab_size, card->target());
  if (planned->total_bytes() > card->budget().usable_bytes) {
    throw report::does_not_fit(*planned, card->budget(), report::language_of(config));
  }
  constexpr std::int64_t kMoreTokens = 5000;
  RandomRun run(config, std::move(card), config.block_size + kMoreTokens, {});
  backend::Executor& executor = run.engine().executor();
  const double flop_rate = executor.measure_peak_flops();
  const double byte_rate = cuda::measure_copy_rate(executor);
  run.engine().initialize();  // measuring has overwritten the weights
  std::int64_t iteration = 0;
  while (iteration < kWarmUpIterations) run.engine().step(iteration++);
  CardTable table(run.plan(), rates);
  const Clock::time_point start = Clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  while (iteration < kWarmUpIterations + kMinIterations || elapsed() < seconds) {
    table.add_iteration(cuda::time_ops(executor, [&] { run.engine().step(iteration); }));
    ++iteration;
  }
  StepProfile profile = table.result();
  profile.flop_rate = flop_rate;
  profile.byte_rate = byte_rate;
  return profile;
}

}  // namespace snug::train
