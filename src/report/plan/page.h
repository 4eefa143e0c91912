// A plan as one HTML page that needs nothing else: no network, no other file. It shows the memory
// of a run op by op against the budget, and the same for every fix.
#pragma once

#include <string>
#include <vector>

#include "fit/budget.h"
#include "fit/fixes.h"
#include "plan/run_plan.h"

namespace snug {

struct PlanPage {
  struct Setting {
    std::string name;
    const RunPlan* run;
    const Fix* fix;  // null: the config as it is
  };

  std::string title;    // "GPT-2 124M · 12 layers × 768 · 64 × 1024 tokens · bfloat16"
  std::string command;  // "snug plan config/train_gpt2.py --card=rtx3060"
  Budget budget;
  std::vector<Setting> settings;  // at least one; the first is what the page opens with
};

// The whole file. Any bytes are allowed in the texts.
std::string plan_page(const PlanPage& page);

}  // namespace snug
