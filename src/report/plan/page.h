// A plan as one HTML page that needs nothing else: no network, no other file. It shows the memory
// of a run op by op against the budget, and the same for every fix.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fit/budget.h"
#include "fit/fixes.h"
#include "plan/run_plan.h"
#include "report/catalogue/messages.h"

namespace snug::report {

struct PlanPage {
  struct Setting {
    std::string name;
    const plan::RunPlan* run;
    const fit::Fix* fix;     // null: the config as it is
    std::string title = {};  // "GPT-2 124M · 12 layers × 768 · 64 × 1024 tokens · bfloat16"
    fit::TimeEstimate time = {};  // all 0: not known
    std::int64_t max_iters = 0;
  };

  std::string title;    // of the file; settings have their own
  std::string command;  // "snug plan config/train_gpt2.py --card=rtx3060"
  fit::Budget budget;
  Language language = Language::kEnglish;
  bool fits_as_is = false;                 // the settings are what spare memory buys, not fixes
  std::string support;                     // whether this build trains there; empty: it does
  std::vector<std::string> train;          // the words of the recommended setting's command
  std::optional<std::size_t> recommended;  // of `settings`
  std::vector<Setting> settings;           // at least one; the first is what the page opens with
};

// The whole file. Any bytes are allowed in the texts.
std::string plan_page(const PlanPage& page);

}  // namespace snug::report
