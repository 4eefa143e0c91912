// A plan as people and scripts read it: the verdict first, the reason under it, the next command
// last.
#pragma once

#include <string>
#include <vector>

#include "config/config.h"
#include "fit/fixes.h"
#include "plan/run_plan.h"

namespace snug {

struct PlanReportInput {
  const LoadedConfig& config;
  const RunPlan& training;
  const RunPlan& sampling;
  std::string vocabulary_origin;
  Budget budget;
  const Card* card;  // null: planned for the processor
  TimeEstimate time;
  const Fixes& fixes;
  std::vector<std::string> arguments;  // as typed, for the commands that the report suggests
  bool color = false;

  bool fits() const { return training.total_bytes() <= budget.usable_bytes; }
};

std::string plan_text(const PlanReportInput& input);

// One JSON object; its members are documented in docs/formats.md.
std::string plan_json(const PlanReportInput& input);

// The `count` largest tensors of those alive at the peak, largest first.
std::vector<TensorId> largest_tensors(const RunPlan& run, std::size_t count);

// "logits backward (train)": the op and phase where the most bytes are alive.
std::string peak_label(const RunPlan& run);

}  // namespace snug
