#include "train/engine.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "train/initialize.h"
#include "train/schedule.h"

namespace snug {
namespace {

// All pieces of a tensor; `make` gets the offset of each and its room.
template <typename Make>
void put_all(const NamedTensor& tensor, TensorBytes& bytes, const Make& make) {
  for_each_piece(tensor.byte_count(), [&](std::int64_t at, std::int64_t count) {
    bytes.put(tensor.id, at, count, [&](std::span<std::byte> piece) { make(at, piece); });
  });
}

}  // namespace

TrainingEngine::TrainingEngine(const Config& config, const RunPlan& run, const Device& device,
                               const TokenFile& train, const TokenFile& val)
    : config_(config),
      run_(run),
      executor_(device.make_executor(run.program, run.plan)),
      train_batches_(train, static_cast<std::uint64_t>(config.seed), RandomPurpose::kTrainBatch),
      eval_train_(train, static_cast<std::uint64_t>(config.seed), RandomPurpose::kEvalTrain),
      eval_val_(val, static_cast<std::uint64_t>(config.seed), RandomPurpose::kEvalVal),
      evaluate_(run.program.phase(PhaseKind::kEvaluate)),
      checkpoint_(run.program) {
  std::int64_t longest = 0;
  for (const Phase& phase : run.program.phases) longest = std::max(longest, phase.block_size);
  tokens_.resize(static_cast<std::size_t>(longest));
  targets_.resize(tokens_.size());
  losses_.resize(tokens_.size());
}

void TrainingEngine::initialize() {
  const auto seed = static_cast<std::uint64_t>(config_.seed);
  run_transfer(*executor_, run_.program.phase(PhaseKind::kLoad), [&](TensorBytes& bytes) {
    for (std::size_t i = 0; i < checkpoint_.weights().size(); ++i) {
      const auto draw = [&](std::int64_t at, std::span<std::byte> piece) {
        const std::span values(reinterpret_cast<float*>(piece.data()),
                               piece.size() / sizeof(float));
        initialize_parameter(run_.model.parameters[i], seed, static_cast<std::int64_t>(i),
                             at / size_of(DType::kF32), values);
      };
      put_all(checkpoint_.weights()[i], bytes, draw);
    }
    for (const NamedTensor& moment : checkpoint_.optimizer()) {
      put_all(moment, bytes, [](std::int64_t, std::span<std::byte> piece) {
        std::ranges::fill(piece, std::byte{0});
      });
    }
  });
}

Loaded TrainingEngine::load(const CheckpointStore& store) {
  Loaded loaded;
  run_transfer(*executor_, run_.program.phase(PhaseKind::kLoad),
               [&](TensorBytes& bytes) { loaded = store.load(checkpoint_.tensors(&bytes)); });
  return loaded;
}

Saved TrainingEngine::save(CheckpointStore& store, const TrainingState& state, bool is_best) {
  Saved saved;
  run_transfer(*executor_, run_.program.phase(PhaseKind::kSave), [&](TensorBytes& bytes) {
    saved = store.save(state, checkpoint_.tensors(&bytes), is_best);
  });
  return saved;
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
  const auto tokens = std::span(tokens_).first(T), targets = std::span(targets_).first(T);
  for (std::int64_t s = 0; s < context.sequence_count; ++s) {
    source.fill(context.iteration, context.first_sequence + s, tokens, targets);
    const std::int64_t first = s * phase.block_size;
    write_elements<std::int32_t>(*executor_, phase.host.tokens, first, tokens);
    write_elements<std::int32_t>(*executor_, phase.host.targets, first, targets);
  }
}

void TrainingEngine::add_losses(const Phase& phase, std::int64_t sequence_count, double& sum) {
  const auto losses = std::span(losses_).first(static_cast<std::size_t>(phase.block_size));
  for (std::int64_t s = 0; s < sequence_count; ++s) {
    read_elements(*executor_, phase.host.losses, s * phase.block_size, losses);
    for (const float loss : losses) sum += static_cast<double>(loss);
  }
}

StepResult TrainingEngine::step(std::int64_t iteration, const BatchCallback& on_batch) {
  const Phase& micro_step = run_.program.phase(PhaseKind::kMicroStep);
  const Phase& update = run_.program.phase(PhaseKind::kUpdate);
  StepResult result;
  StepContext context = context_at(iteration);
  executor_->run(run_.program.phase(PhaseKind::kBeginIteration), context);
  context.dropout = config_.dropout;
  context.sequence_count = micro_step.batch_size;
  const std::int64_t steps = config_.gradient_accumulation_steps;
  double sum = 0;
  for (std::int64_t micro = 0; micro < steps; ++micro) {
    context.first_sequence = micro * micro_step.batch_size;
    fill_batch(micro_step, train_batches_, context);
    executor_->run(micro_step, context);
    add_losses(micro_step, micro_step.batch_size, sum);
    if (on_batch && !on_batch(micro + 1, steps)) return result;
  }
  const auto tokens = static_cast<double>(micro_step.batch_size * steps * micro_step.block_size);
  result.loss = sum / tokens;
  if (!std::isfinite(result.loss)) return result;

  context.gradient_scale = 1.0 / tokens;
  context.gradient_clip = config_.grad_clip;
  context.learning_rate = learning_rate_at(config_, iteration);
  context.beta1 = config_.beta1;
  context.beta2 = config_.beta2;
  context.update_count = iteration + 1;
  executor_->run(update, context);
  read_elements(*executor_, update.host.norm, 0, std::span(&result.gradient_norm, 1));
  result.updated = std::isfinite(result.gradient_norm);
  return result;
}

std::optional<double> TrainingEngine::evaluate(Split split, std::int64_t iteration,
                                               const BatchCallback& on_batch) {
  const BatchSource& source = split == Split::kTrain ? eval_train_ : eval_val_;
  const std::int64_t sequences = evaluated_sequences(config_);
  const std::int64_t size = evaluate_.batch_size, T = evaluate_.block_size;
  const std::int64_t batches = (sequences + size - 1) / size;
  StepContext context = context_at(iteration);
  double sum = 0;
  for (std::int64_t batch = 0; batch < batches; ++batch) {
    context.first_sequence = batch * size;
    context.sequence_count = std::min(size, sequences - context.first_sequence);
    fill_batch(evaluate_, source, context);
    executor_->run(evaluate_, context);
    add_losses(evaluate_, context.sequence_count, sum);
    if (on_batch && !on_batch(batch + 1, batches)) return std::nullopt;
  }
  return sum / static_cast<double>(sequences * T);
}

}  // namespace snug
