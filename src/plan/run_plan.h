// RunPlan: everything that is known of a run before the first byte is allocated, and the one way
// from a config to it: model, then program, then plan. No device is needed, and nothing large is
// allocated.
#pragma once

#include <memory>

#include "config/config.h"
#include "model/model_spec.h"
#include "plan/plan.h"
#include "program/target.h"

namespace snug::plan {

struct RunPlan {
  model::ModelSpec model;
  program::Program program;
  Plan plan;
  std::int64_t overhead_bytes = 0;  // resident outside the arena, see Target::overhead_bytes

  std::int64_t total_bytes() const { return plan.arena_bytes + overhead_bytes; }
};

// The program of a training run, not yet placed. `config` is a resolved one; its vocab_size does
// not count, here and below.
program::Program training_program(const config::Config& config, std::int64_t vocab_size,
                                  const program::Target& target);

// By pointer, because executors refer to program and plan. With config.verify_plan the plan is
// verified in every build.
std::unique_ptr<RunPlan> plan_training(const config::Config& config, std::int64_t vocab_size,
                                       const program::Target& target);
// `window` positions are kept; `compute` is the precision that is wanted.
std::unique_ptr<RunPlan> plan_sampling(const model::ModelSpec& model, std::int64_t window,
                                       DType compute, const program::Target& target);

}  // namespace snug::plan
