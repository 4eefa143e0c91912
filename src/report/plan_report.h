// A plan as people and scripts read it: the verdict first, the reason under it.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "config/config.h"
#include "plan/run_plan.h"

namespace snug {

struct PlanReportInput {
  const Config& config;
  const RunPlan& training;
  const RunPlan& sampling;
  std::string vocabulary_origin;
  std::int64_t budget_bytes;
  std::string budget_origin;  // "available on this machine now", "memory_budget"
  bool color = false;

  bool fits() const { return training.total_bytes() <= budget_bytes; }
};

std::string plan_text(const PlanReportInput& input);

// One JSON object; its members are documented in docs/formats.md.
std::string plan_json(const PlanReportInput& input);

// The `count` largest tensors of those alive at the peak, largest first.
std::vector<TensorId> largest_tensors(const RunPlan& run, std::size_t count);

// What `train` says instead of starting: what is needed, and which part of it is the largest.
CapacityError does_not_fit(const RunPlan& run, std::int64_t budget_bytes);

}  // namespace snug
