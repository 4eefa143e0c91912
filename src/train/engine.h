// TrainingEngine: one bound program and its data. It knows how to do an iteration and an
// evaluation; when to do them, what to print and what to save is the loop's business
// (train_loop.h).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "backend/backend.h"
#include "checkpoint/checkpoint_store.h"
#include "data/batch_source.h"
#include "device/device.h"
#include "formats/source.h"
#include "plan/run_plan.h"
#include "train/checkpoint_list.h"

namespace snug::train {

enum class Split { kTrain, kVal };

// Called after every batch with the batches done and in all; returning false stops the work.
using BatchCallback = std::function<bool(std::int64_t done, std::int64_t total)>;

struct StepResult {
  double loss = 0;           // mean over every token of the iteration
  double gradient_norm = 0;  // before clipping
  bool updated = false;  // false: stopped, or loss or norm not finite; the weights are as before
  // In float16: not finite, so that the loss scale has fallen; the run goes on.
  bool skipped = false;
};

class TrainingEngine {
 public:
  // Takes the plan's memory on the device. The run's plan and the files must outlive the engine.
  TrainingEngine(const config::Config& config, const plan::RunPlan& run,
                 const device::Device& device, const data::TokenSource& train,
                 const data::TokenSource& val);

  // Weights drawn from the seed, moments zero.
  void initialize();

  // Iteration `iteration`, counted from 0. Nothing is allocated. Not for a plan of eval_only.
  StepResult step(std::int64_t iteration, const BatchCallback& on_batch = {});

  // Mean loss over eval_sequences (0: eval_iters * batch_size) sequences, walked eval_batch_size at
  // a time: the number depends on which sequences these are, never on how they are grouped. Nothing
  // when stopped.
  std::optional<double> evaluate(Split split, std::int64_t iteration,
                                 const BatchCallback& on_batch = {});

  // In float16 it moves with every step.
  const checkpoint::LossScale& loss_scale() const { return loss_scale_; }

  // The newest usable checkpoint of the store; throws as CheckpointStore::load.
  checkpoint::Loaded load(const checkpoint::CheckpointStore& store);
  // Another program's model; throws as formats::fill.
  void load(const formats::Source& source);
  // Throws as CheckpointStore::save.
  checkpoint::Saved save(checkpoint::CheckpointStore& store, const checkpoint::TrainingState& state,
                         bool is_best);

  backend::Executor& executor() { return *executor_; }

 private:
  void fill_batch(const program::Phase& phase, const data::BatchSource& source,
                  const backend::StepContext& context);
  // Adds row by row to `sum`, so that no split into batches can change the order of additions.
  void add_losses(const program::Phase& phase, std::int64_t sequence_count, double& sum);
  backend::StepContext context_at(std::int64_t iteration) const;
  bool scales_loss() const;
  // Sets what the update needs, for gradients that are sums over so many tokens.
  void set_update(backend::StepContext& context, double tokens) const;

  const config::Config config_;
  const plan::RunPlan& run_;
  const std::unique_ptr<backend::Executor> executor_;
  data::BatchSource train_batches_, eval_train_, eval_val_;
  const program::Phase& evaluate_;
  const CheckpointList checkpoint_;
  checkpoint::LossScale loss_scale_;
  // One sequence of a batch on its way to or from the executor.
  std::vector<std::int32_t> tokens_, targets_;
  std::vector<float> losses_;
};

}  // namespace snug::train
