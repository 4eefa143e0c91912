// A plan as people and scripts read it: the verdict first, the reason under it, the next command
// last.
#pragma once

#include <string>
#include <vector>

#include "config/config.h"
#include "fit/card_support.h"
#include "fit/fixes.h"
#include "plan/run_plan.h"
#include "report/catalogue/messages.h"

namespace snug::report {

struct PlanReportInput {
  const config::LoadedConfig& config;
  const plan::RunPlan& training;
  const plan::RunPlan& sampling;
  std::string vocabulary_origin;
  fit::Budget budget;
  const fit::Card* card;     // null: planned for the processor
  fit::CardSupport support;  // of the card by this build
  fit::TimeEstimate time;
  const fit::Fixes& fixes;
  std::vector<std::string> arguments;  // as typed, for the commands that the report suggests
  bool color = false;
  Language language = Language::kEnglish;

  bool fits() const { return verdict() != fit::Verdict::kDoesNotFit; }
  fit::Verdict verdict() const { return fit::verdict_of(training.total_bytes(), budget); }
};

std::string plan_text(const PlanReportInput& input);

// One JSON object; its members are documented in docs/formats.md.
std::string plan_json(const PlanReportInput& input);

// The `count` largest tensors of those alive at the peak, largest first.
std::vector<TensorId> largest_tensors(const plan::RunPlan& run, std::size_t count);

// "123.59M parameters · 12 layers × 768 · 64 × 1024 tokens · bfloat16"
std::string plan_subject(Language language, const plan::RunPlan& run, const config::Config& config);

// The words of the command that takes the chosen fix: of `snug train`, or where this build cannot
// train on the card, of `snug plan`. Only with a chosen fix.
std::vector<std::string> next_command(const PlanReportInput& input);

// "logits backward (train)": the op and phase where the most bytes are alive.
std::string peak_label(const plan::RunPlan& run, Language language = Language::kEnglish);

}  // namespace snug::report
