// RunPlan: everything that is known of a run before the first byte is allocated.
#pragma once

#include "model/model_spec.h"
#include "plan/plan.h"
#include "program/program.h"

namespace snug {

struct RunPlan {
  ModelSpec model;
  Program program;
  Plan plan;
  std::int64_t overhead_bytes = 0;  // resident outside the arena, see Target::overhead_bytes

  std::int64_t total_bytes() const { return plan.arena_bytes + overhead_bytes; }
};

}  // namespace snug
