#include "plan/run_plan.h"

#include "gpt2/spec.h"
#include "program/sampling_program.h"
#include "program/training_program.h"

namespace snug {
namespace {

void place(RunPlan& run, const Target& target) {
  run.plan = make_plan(run.program);
  run.overhead_bytes = target.overhead_bytes(run.program);
}

}  // namespace

Program training_program(const Config& config, std::int64_t vocab_size, const Target& target) {
  return build_training_program(make_model_spec(config, vocab_size), training_shape(config),
                                target);
}

std::unique_ptr<RunPlan> plan_training(const Config& config, std::int64_t vocab_size,
                                       const Target& target) {
  auto run = std::make_unique<RunPlan>();
  run->model = make_model_spec(config, vocab_size);
  run->program = build_training_program(run->model, training_shape(config), target);
  place(*run, target);
  if (config.verify_plan) verify_plan(run->program, run->plan);
  return run;
}

std::unique_ptr<RunPlan> plan_sampling(const ModelSpec& model, std::int64_t window, DType compute,
                                       const Target& target) {
  auto run = std::make_unique<RunPlan>();
  run->model = model;
  run->program = build_sampling_program(run->model, window, compute, target);
  place(*run, target);
  return run;
}

}  // namespace snug
