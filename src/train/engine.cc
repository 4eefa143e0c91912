#include "train/engine.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "base/integers.h"
#include "train/initialize.h"
#include "train/loss_scaler.h"
#include "train/narrowing_bytes.h"
#include "train/schedule.h"

namespace snug::train {
namespace {

// All pieces of a tensor; `make` gets the offset of each and its room.
template <typename Make>
void put_all(const checkpoint::NamedTensor& tensor, TensorBytes& bytes, const Make& make) {
  for_each_piece(tensor.byte_count(), [&](std::int64_t at, std::int64_t count) {
    bytes.put(tensor.id, at, count, [&](std::span<std::byte> piece) { make(at, piece); });
  });
}

}  // namespace

TrainingEngine::TrainingEngine(const config::Config& config, const plan::RunPlan& run,
                               const device::Device& device, const data::TokenSource& train,
                               const data::TokenSource& val)
    : config_(config),
      run_(run),
      executor_(device.make_executor(run.program, run.plan)),
      train_batches_(train, static_cast<std::uint64_t>(config.seed), RandomPurpose::kTrainBatch),
      eval_train_(train, static_cast<std::uint64_t>(config.seed), RandomPurpose::kEvalTrain),
      eval_val_(val, static_cast<std::uint64_t>(config.seed), RandomPurpose::kEvalVal),
      evaluate_(run.program.phase(program::PhaseKind::kEvaluate)),
      checkpoint_(run.program) {
  std::int64_t longest = 0;
  for (const program::Phase& phase : run.program.phases)
    longest = std::max(longest, phase.block_size);
  tokens_.resize(static_cast<std::size_t>(longest));
  targets_.resize(tokens_.size());
  losses_.resize(tokens_.size());
}

void TrainingEngine::initialize() {
  const auto seed = static_cast<std::uint64_t>(config_.seed);
  loss_scale_ = {};
  backend::run_transfer(
      *executor_, run_.program.phase(program::PhaseKind::kLoad), [&](TensorBytes& held) {
        NarrowingBytes bytes(held, run_.program);
        for (std::size_t i = 0; i < checkpoint_.weights().size(); ++i) {
          const auto draw = [&](std::int64_t at, std::span<std::byte> piece) {
            const std::span values(reinterpret_cast<float*>(piece.data()),
                                   piece.size() / sizeof(float));
            initialize_parameter(run_.model.parameters[i], seed, static_cast<std::int64_t>(i),
                                 at / size_of(DType::kF32), values);
          };
          put_all(checkpoint_.weights()[i], bytes, draw);
        }
        for (const checkpoint::NamedTensor& moment : checkpoint_.optimizer()) {
          put_all(moment, bytes, [](std::int64_t, std::span<std::byte> piece) {
            std::ranges::fill(piece, std::byte{0});
          });
        }
      });
}

checkpoint::Loaded TrainingEngine::load(const checkpoint::CheckpointStore& store) {
  checkpoint::Loaded loaded;
  backend::run_transfer(*executor_, run_.program.phase(program::PhaseKind::kLoad),
                        [&](TensorBytes& held) {
                          NarrowingBytes bytes(held, run_.program);
                          loaded = store.load(checkpoint_.tensors(&bytes));
                        });
  loss_scale_ = loaded.state.loss_scale;
  return loaded;
}

void TrainingEngine::load(const formats::Source& source) {
  backend::run_transfer(*executor_, run_.program.phase(program::PhaseKind::kLoad),
                        [&](TensorBytes& held) {
                          NarrowingBytes bytes(held, run_.program);
                          formats::fill(source, checkpoint_.tensors(&bytes));
                        });
}

checkpoint::Saved TrainingEngine::save(checkpoint::CheckpointStore& store,
                                       const checkpoint::TrainingState& state, bool is_best) {
  checkpoint::Saved saved;
  checkpoint::TrainingState whole = state;
  whole.loss_scale = loss_scale_;
  backend::run_transfer(
      *executor_, run_.program.phase(program::PhaseKind::kSave),
      [&](TensorBytes& bytes) { saved = store.save(whole, checkpoint_.tensors(&bytes), is_best); });
  return saved;
}

backend::StepContext TrainingEngine::context_at(std::int64_t iteration) const {
  backend::StepContext context;
  context.seed = static_cast<std::uint64_t>(config_.seed);
  context.iteration = iteration;
  return context;
}

void TrainingEngine::fill_batch(const program::Phase& phase, const data::BatchSource& source,
                                const backend::StepContext& context) {
  const auto T = static_cast<std::size_t>(phase.block_size);
  const auto tokens = std::span(tokens_).first(T), targets = std::span(targets_).first(T);
  for (std::int64_t s = 0; s < context.sequence_count; ++s) {
    source.fill(context.iteration, context.first_sequence + s, tokens, targets);
    const std::int64_t first = s * phase.block_size;
    backend::write_elements<std::int32_t>(*executor_, phase.host.tokens, first, tokens);
    backend::write_elements<std::int32_t>(*executor_, phase.host.targets, first, targets);
  }
}

void TrainingEngine::add_losses(const program::Phase& phase, std::int64_t sequence_count,
                                double& sum) {
  const auto losses = std::span(losses_).first(static_cast<std::size_t>(phase.block_size));
  for (std::int64_t s = 0; s < sequence_count; ++s) {
    backend::read_elements(*executor_, phase.host.losses, s * phase.block_size, losses);
    for (const float loss : losses) sum += static_cast<double>(loss);
  }
}

bool TrainingEngine::scales_loss() const {
  const TensorId any = run_.program.compute_weights.front();
  return run_.program.tensor(any).dtype == DType::kF16;
}

void TrainingEngine::set_update(backend::StepContext& context, double tokens) const {
  // In float16 the mean is taken at the losses, as PyTorch does, and the factor is undone here.
  context.gradient_scale = 1.0 / (scales_loss() ? loss_scale_.factor : tokens);
  context.gradient_clip = config_.grad_clip;
  context.learning_rate = learning_rate_at(config_, context.iteration);
  context.beta1 = config_.beta1;
  context.beta2 = config_.beta2;
  context.update_count = context.iteration + 1 - loss_scale_.skipped_updates;
}

StepResult TrainingEngine::step(std::int64_t iteration, const BatchCallback& on_batch) {
  const program::Phase& micro_step = run_.program.phase(program::PhaseKind::kMicroStep);
  const program::Phase& update = run_.program.phase(program::PhaseKind::kUpdate);
  StepResult result;
  backend::StepContext context = context_at(iteration);
  executor_->run(run_.program.phase(program::PhaseKind::kBeginIteration), context);
  context.dropout = config_.dropout;
  context.sequence_count = micro_step.batch_size;
  const std::int64_t steps = config_.gradient_accumulation_steps;
  const auto tokens = static_cast<double>(micro_step.batch_size * steps * micro_step.block_size);
  if (scales_loss()) context.loss_scale = loss_scale_.factor / tokens;
  double sum = 0;
  for (std::int64_t micro = 0; micro < steps; ++micro) {
    context.first_sequence = micro * micro_step.batch_size;
    if (micro == 0) fill_batch(micro_step, train_batches_, context);
    executor_->run(micro_step, context);
    // Where run() returns before the work is done, the next batch is made meanwhile.
    if (micro + 1 < steps) {
      backend::StepContext next = context;
      next.first_sequence += micro_step.batch_size;
      fill_batch(micro_step, train_batches_, next);
    }
    add_losses(micro_step, micro_step.batch_size, sum);
    if (on_batch && !on_batch(micro + 1, steps)) return result;
  }
  result.loss = sum / tokens;
  if (std::isfinite(result.loss)) {
    set_update(context, tokens);
    executor_->run(update, context);
    backend::read_elements(*executor_, update.host.norm, 0, std::span(&result.gradient_norm, 1));
    result.updated = std::isfinite(result.gradient_norm);
  }
  if (scales_loss()) {
    result.skipped = !result.updated;
    adapt_loss_scale(loss_scale_, result.updated);
  }
  return result;
}

std::optional<double> TrainingEngine::evaluate(Split split, std::int64_t iteration,
                                               const BatchCallback& on_batch) {
  const data::BatchSource& source = split == Split::kTrain ? eval_train_ : eval_val_;
  const std::int64_t sequences = config::evaluated_sequences(config_);
  const std::int64_t size = evaluate_.batch_size, T = evaluate_.block_size;
  const std::int64_t batches = ceil_div(sequences, size);
  backend::StepContext context = context_at(iteration);
  const auto go_to = [&](std::int64_t batch) {
    context.first_sequence = batch * size;
    context.sequence_count = std::min(size, sequences - context.first_sequence);
    fill_batch(evaluate_, source, context);
  };
  double sum = 0;
  go_to(0);
  for (std::int64_t batch = 0; batch < batches; ++batch) {
    executor_->run(evaluate_, context);
    const std::int64_t count = context.sequence_count;
    if (batch + 1 < batches) go_to(batch + 1);  // made while this one runs
    add_losses(evaluate_, count, sum);
    if (on_batch && !on_batch(batch + 1, batches)) return std::nullopt;
  }
  return sum / static_cast<double>(sequences * T);
}

}  // namespace snug::train
