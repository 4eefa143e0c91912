#include "doctor/torch/train.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "doctor/torch/compiled.h"
#include "doctor/torch/gpt.h"

namespace snug::doctor::torch {
namespace {

struct TorchBatch {
  TorchRef tokens, targets;
};

class TrainScript {
 public:
  TrainScript(const TorchRun& run, TorchTape& tape)
      : run_(run), tape_(tape), parameters_(run, tape), ops_(run, tape, parameters_) {
    if (run.compiled) {
      model_ = std::make_unique<TorchCompiledGpt>(ops_);
    } else {
      model_ = std::make_unique<TorchGpt>(ops_);
    }
  }

  void start();
  void evaluate(TorchPhase phase);
  void iterate(int iteration, std::int64_t max_micro_steps);

 private:
  TorchBatch get_batch(std::int64_t batch, std::int64_t block);
  TorchRef scalar(std::string_view what, std::string_view op);
  void micro_step(int iteration, int index);
  void backward();
  void update(int iteration);

  const TorchRun& run_;
  TorchTape& tape_;
  TorchParameters parameters_;
  TorchOps ops_;
  std::unique_ptr<TorchModel> model_;
  TorchBatch next_;          // X, Y
  TorchRef logits_, loss_;   // train.py's globals: they live on
  TorchRef scale_, growth_;  // GradScaler's, fp16 only
};

TorchRef TrainScript::scalar(std::string_view what, std::string_view op) {
  return tape_.allocate({what, op, TorchRole::kActivation}, Shape{}, TorchDType::kF32);
}

TorchBatch TrainScript::get_batch(std::int64_t batch, std::int64_t block) {
  const Shape shape{batch, block};
  TorchBatch result;
  result.tokens =
      tape_.allocate({"X (tokens)", "_to_copy", TorchRole::kInput}, shape, TorchDType::kI64);
  result.targets =
      tape_.allocate({"Y (targets)", "_to_copy", TorchRole::kInput}, shape, TorchDType::kI64);
  return result;
}

void TrainScript::start() {
  tape_.begin(TorchPhase::kStart);
  if (run_.resumed) parameters_.resume();
  parameters_.allocate();
  if (run_.ddp) parameters_.wrap_ddp();
  next_ = get_batch(run_.batch_size, run_.block_size);
}

// Two batches: the second finds the first one's logits still named. All later ones are like it.
void TrainScript::evaluate(TorchPhase phase) {
  tape_.begin(phase);
  ops_.set_pass({run_.eval_batch_size, run_.eval_block_size, false});
  TorchBatch batch;
  TorchForward result;
  for (int i = 0; i < 2; ++i) {
    batch = get_batch(run_.eval_batch_size, run_.eval_block_size);
    result = model_->evaluate(batch.tokens, batch.targets);
    parameters_.leave_autocast();
  }
}

void TrainScript::backward() {
  TorchRef scaled, gradient;
  if (run_.compute == DType::kF16) {
    if (!scale_) {
      scale_ = scalar("GradScaler's scale", "full");
      growth_ = scalar("GradScaler's growth tracker", "full");
    }
    scaled = scalar("loss, scaled", "mul");
  }
  const TorchRef root = scalar("gradient of the loss", "ones_like");
  if (scaled) gradient = scalar("gradient of the loss", "mul");
  gradient = scalar("gradient of the loss", "div");
  model_->backward(std::move(gradient));
}

void TrainScript::micro_step(int iteration, int index) {
  tape_.begin(TorchPhase::kForward, iteration, index);
  ops_.set_pass({run_.batch_size, run_.block_size, true});
  if (run_.ddp && iteration == 1 && index == 0) parameters_.rebuild_ddp_buckets();
  {
    TorchForward result = model_->forward(next_.tokens, next_.targets);
    logits_ = std::move(result.logits);
    loss_ = std::move(result.loss);
  }
  loss_ = scalar("loss, divided", "div");
  parameters_.leave_autocast();
  tape_.mark_saved();
  tape_.begin(TorchPhase::kBackward, iteration, index);
  next_ = get_batch(run_.batch_size, run_.block_size);
  backward();
}

void TrainScript::update(int iteration) {
  tape_.begin(TorchPhase::kOptimizer, iteration);
  TorchRef found_inf;
  if (run_.compute == DType::kF16) found_inf = scalar("GradScaler's found_inf", "full");
  if (run_.clips_gradients) parameters_.clip_gradients();
  parameters_.step();
  parameters_.zero_grad();
}

void TrainScript::iterate(int iteration, std::int64_t max_micro_steps) {
  const auto micro_steps = static_cast<int>(std::min(run_.accumulation_steps, max_micro_steps));
  for (int index = 0; index < micro_steps; ++index) micro_step(iteration, index);
  update(iteration);
}

}  // namespace

void record_training(const TorchRun& run, TorchTape& tape, const TorchExtent& extent) {
  TrainScript script(run, tape);
  script.start();
  script.evaluate(TorchPhase::kEvaluateFirst);
  for (int i = 0; i < extent.iterations; ++i) script.iterate(i, extent.micro_steps);
  script.evaluate(TorchPhase::kEvaluateLater);
  for (int i = 0; i < extent.iterations_after_evaluation; ++i) {
    script.iterate(extent.iterations + i, extent.micro_steps);
  }
  tape.end();
}

}  // namespace snug::doctor::torch
