#include "fit/planner.h"

#include "base/integers.h"
#include "plan/plan.h"

namespace snug::fit {
namespace {

double steps_of(const config::Config& config) {
  return static_cast<double>(config.gradient_accumulation_steps);
}

double seconds_of(const program::Program& program, program::PhaseKind kind, const Rates& rates) {
  return phase_seconds(rates, program, program.phase(kind));
}

double iteration_of(const program::Program& program, const config::Config& config,
                    const Rates& rates) {
  if (program.gradients.empty()) return 0;  // evaluation only
  return seconds_of(program, program::PhaseKind::kBeginIteration, rates) +
         steps_of(config) * seconds_of(program, program::PhaseKind::kMicroStep, rates) +
         seconds_of(program, program::PhaseKind::kUpdate, rates);
}

}  // namespace

Planner::Planner(const program::Target& target, std::int64_t vocab_size, Rates rates)
    : target_(target), vocab_size_(vocab_size), rates_(rates) {}

std::unique_ptr<plan::RunPlan> Planner::plan(const config::Config& config) const {
  return plan::plan_training(config, vocab_size_, target_);
}

std::int64_t Planner::min_bytes(const config::Config& config) const {
  const program::Program program = plan::training_program(config, vocab_size_, target_);
  return checked_add(plan::peak_live_bytes(program), target_.overhead_bytes(program));
}

DType Planner::compute_dtype(const config::Config& config) const {
  return target_.compute_dtype(compute_dtype_named(config.dtype));
}

double Planner::iteration_seconds(const config::Config& config) const {
  return iteration_of(plan::training_program(config, vocab_size_, target_), config, rates_);
}

double iteration_seconds(const plan::RunPlan& run, const config::Config& config,
                         const Rates& rates) {
  return iteration_of(run.program, config, rates);
}

TimeEstimate estimate_time(const plan::RunPlan& run, const config::Config& config,
                           const Rates& rates) {
  const std::int64_t sequences = config::evaluated_sequences(config);
  const std::int64_t batches = ceil_div(sequences, config.eval_batch_size);
  const std::int64_t evaluations = config.max_iters / config.eval_interval + 1;
  TimeEstimate time;
  time.low = rates.low;
  time.high = rates.high;
  time.noise = rates.noise;
  time.evaluation_seconds = 2 * static_cast<double>(batches) *
                            seconds_of(run.program, program::PhaseKind::kEvaluate, rates);
  time.iteration_seconds = iteration_of(run.program, config, rates);
  if (time.iteration_seconds > 0) {
    time.tokens_per_second = steps_of(config) *
                             static_cast<double>(config.batch_size * config.block_size) /
                             time.iteration_seconds;
  }
  time.run_seconds = config.eval_only
                         ? time.evaluation_seconds
                         : static_cast<double>(config.max_iters + 1) * time.iteration_seconds +
                               static_cast<double>(evaluations) * time.evaluation_seconds;
  return time;
}

}  // namespace snug::fit
