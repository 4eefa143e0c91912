#include "plan/run_plan.h"

#include "gpt2/spec.h"
#include "program/sampling_program.h"
#include "program/training_program.h"

namespace snug::plan {
namespace {

void place(RunPlan& run, const program::Target& target) {
  run.plan = make_plan(run.program);
  run.overhead_bytes = target.overhead_bytes(run.program);
}

}  // namespace

program::Program training_program(const config::Config& config, std::int64_t vocab_size,
                                  const program::Target& target) {
  return program::build_training_program(gpt2::make_model_spec(config, vocab_size),
                                         program::training_shape(config), target);
}

std::unique_ptr<RunPlan> plan_training(const config::Config& config, std::int64_t vocab_size,
                                       const program::Target& target) {
  auto run = std::make_unique<RunPlan>();
  run->model = gpt2::make_model_spec(config, vocab_size);
  run->program =
      program::build_training_program(run->model, program::training_shape(config), target);
  place(*run, target);
  if (config.verify_plan) verify_plan(run->program, run->plan);
  return run;
}

std::unique_ptr<RunPlan> plan_sampling(const model::ModelSpec& model, std::int64_t window,
                                       DType compute, const program::Target& target) {
  auto run = std::make_unique<RunPlan>();
  run->model = model;
  run->program = program::build_sampling_program(run->model, window, compute, target);
  place(*run, target);
  return run;
}

}  // namespace snug::plan
