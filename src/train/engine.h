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
#include "plan/run_plan.h"
#include "train/checkpoint_list.h"

namespace snug {

enum class Split { kTrain, kVal };

// Called after every batch with the batches done and in all; returning false stops the work.
using BatchCallback = std::function<bool(std::int64_t done, std::int64_t total)>;

struct StepResult {
  double loss = 0;           // mean over every token of the iteration
  double gradient_norm = 0;  // before clipping
  bool updated = false;  // false: stopped, or loss or norm not finite; the weights are as before
};

class TrainingEngine {
 public:
  // Takes the plan's memory on the device. The run's plan and the files must outlive the engine.
  TrainingEngine(const Config& config, const RunPlan& run, const Device& device,
                 const TokenFile& train, const TokenFile& val);

  // Weights drawn from the seed, moments zero.
  void initialize();

  // Iteration `iteration`, counted from 0. Nothing is allocated. Not for a plan of eval_only.
  StepResult step(std::int64_t iteration, const BatchCallback& on_batch = {});

  // Mean loss over eval_sequences (0: eval_iters * batch_size) sequences, walked eval_batch_size at
  // a time: the number depends on which sequences these are, never on how they are grouped. Nothing
  // when stopped.
  std::optional<double> evaluate(Split split, std::int64_t iteration,
                                 const BatchCallback& on_batch = {});

  // The newest usable checkpoint of the store; throws as CheckpointStore::load.
  Loaded load(const CheckpointStore& store);
  // Throws as CheckpointStore::save.
  Saved save(CheckpointStore& store, const TrainingState& state, bool is_best);

  Executor& executor() { return *executor_; }

 private:
  void fill_batch(const Phase& phase, const BatchSource& source, const StepContext& context);
  // Adds row by row to `sum`, so that no split into batches can change the order of additions.
  void add_losses(const Phase& phase, std::int64_t sequence_count, double& sum);
  StepContext context_at(std::int64_t iteration) const;

  const Config config_;
  const RunPlan& run_;
  const std::unique_ptr<Executor> executor_;
  BatchSource train_batches_, eval_train_, eval_val_;
  const Phase& evaluate_;
  const CheckpointList checkpoint_;
  // One sequence of a batch on its way to or from the executor.
  std::vector<std::int32_t> tokens_, targets_;
  std::vector<float> losses_;
};

}  // namespace snug
