#include "train/engine.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "train/initialize.h"
#include "train/schedule.h"

namespace snug {
namespace {

std::vector<NamedView> named_views(const Program& program, const std::vector<TensorId>& ids,
                                   const Executor& executor) {
  std::vector<NamedView> views;
  for (const TensorId id : ids) views.push_back({program.tensor(id).name, executor.view(id)});
  return views;
}

}  // namespace

TrainingEngine::TrainingEngine(const Config& config, const RunPlan& run, const TokenFile& train,
                               const TokenFile& val)
    : config_(config),
      run_(run),
      executor_(run.program, run.plan),
      train_batches_(train, static_cast<std::uint64_t>(config.seed), RandomPurpose::kTrainBatch),
      eval_train_(train, static_cast<std::uint64_t>(config.seed), RandomPurpose::kEvalTrain),
      eval_val_(val, static_cast<std::uint64_t>(config.seed), RandomPurpose::kEvalVal),
      evaluate_(run.program.phase(PhaseKind::kEvaluate)),
      weights_(named_views(run.program, run.program.weights, executor_)),
      optimizer_(named_views(run.program, run.program.first_moments, executor_)) {
  const std::vector<NamedView> second =
      named_views(run.program, run.program.second_moments, executor_);
  optimizer_.insert(optimizer_.end(), second.begin(), second.end());
}

void TrainingEngine::initialize() {
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    initialize_parameter(run_.model.parameters[i], static_cast<std::uint64_t>(config_.seed),
                         static_cast<std::int64_t>(i), weights_[i].view);
  }
  for (const NamedView& moment : optimizer_) {
    std::memset(moment.view.data, 0, static_cast<std::size_t>(moment.view.byte_count()));
  }
}

StepContext TrainingEngine::context_at(std::int64_t iteration) const {
  StepContext context;
  context.seed = static_cast<std::uint64_t>(config_.seed);
  context.iteration = iteration;
  return context;
}

void TrainingEngine::fill_batch(const Phase& phase, const BatchSource& source,
                                const StepContext& context) {
  const auto T = static_cast<std::size_t>(phase.block_size);
  std::int32_t* tokens = executor_.view(phase.tokens).i32();
  std::int32_t* targets = executor_.view(phase.targets).i32();
  for (std::int64_t s = 0; s < context.sequence_count; ++s) {
    const std::int64_t at = s * phase.block_size;
    source.fill(context.iteration, context.first_sequence + s, {tokens + at, T}, {targets + at, T});
  }
}

void TrainingEngine::add_losses(const Phase& phase, std::int64_t sequence_count,
                                double& sum) const {
  const float* losses = executor_.view(phase.losses).f32();
  for (std::int64_t i = 0; i < sequence_count * phase.block_size; ++i) {
    sum += static_cast<double>(losses[i]);
  }
}

StepResult TrainingEngine::step(std::int64_t iteration, const BatchCallback& on_batch) {
  const Phase& micro_step = run_.program.phase(PhaseKind::kMicroStep);
  const Phase& update = run_.program.phase(PhaseKind::kUpdate);
  StepResult result;
  StepContext context = context_at(iteration);
  executor_.run(run_.program.phase(PhaseKind::kBeginIteration), context);
  context.dropout = config_.dropout;
  context.sequence_count = config_.batch_size;
  const std::int64_t steps = config_.gradient_accumulation_steps;
  double sum = 0;
  for (std::int64_t micro = 0; micro < steps; ++micro) {
    context.first_sequence = micro * config_.batch_size;
    fill_batch(micro_step, train_batches_, context);
    executor_.run(micro_step, context);
    add_losses(micro_step, config_.batch_size, sum);
    if (on_batch && !on_batch(micro + 1, steps)) return result;
  }
  const auto tokens = static_cast<double>(config_.batch_size * steps * config_.block_size);
  result.loss = sum / tokens;
  if (!std::isfinite(result.loss)) return result;

  context.gradient_scale = 1.0 / tokens;
  context.gradient_clip = config_.grad_clip;
  context.learning_rate = learning_rate_at(config_, iteration);
  context.beta1 = config_.beta1;
  context.beta2 = config_.beta2;
  context.update_count = iteration + 1;
  executor_.run(update, context);
  result.gradient_norm = *executor_.view(update.norm).f64();
  result.updated = std::isfinite(result.gradient_norm);
  return result;
}

std::optional<double> TrainingEngine::evaluate(Split split, std::int64_t iteration,
                                               const BatchCallback& on_batch) {
  const BatchSource& source = split == Split::kTrain ? eval_train_ : eval_val_;
  const std::int64_t sequences = evaluated_sequences(config_);
  const std::int64_t size = config_.eval_batch_size, T = evaluate_.block_size;
  const std::int64_t batches = (sequences + size - 1) / size;
  StepContext context = context_at(iteration);
  double sum = 0;
  for (std::int64_t batch = 0; batch < batches; ++batch) {
    context.first_sequence = batch * size;
    context.sequence_count = std::min(size, sequences - context.first_sequence);
    fill_batch(evaluate_, source, context);
    executor_.run(evaluate_, context);
    add_losses(evaluate_, context.sequence_count, sum);
    if (on_batch && !on_batch(batch + 1, batches)) return std::nullopt;
  }
  return sum / static_cast<double>(sequences * T);
}

}  // namespace snug
