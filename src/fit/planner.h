// Planner: from settings to bytes and seconds on one device. Both come from the very Program that a
// run of these settings executes; there is no formula beside it.
#pragma once

#include <memory>

#include "config/config.h"
#include "fit/rates.h"
#include "plan/run_plan.h"
#include "program/target.h"

namespace snug::fit {

class Planner {
 public:
  // `target` must outlive the planner.
  Planner(const program::Target& target, std::int64_t vocab_size, Rates rates);

  // Configs are resolved ones; vocab_size is the planner's, whatever they say.
  std::unique_ptr<plan::RunPlan> plan(const config::Config& config) const;
  // Most bytes alive at once plus the overhead: what plan() needs unless packing leaves gaps, never
  // more. Grows with batch_size and eval_batch_size when nothing else changes, because every tensor
  // and scratch does. A tenth of plan()'s time.
  std::int64_t min_bytes(const config::Config& config) const;
  // Of one iteration: all micro-steps and the update, by the rates' middle.
  double iteration_seconds(const config::Config& config) const;

  const program::Target& target() const { return target_; }
  DType compute_dtype(const config::Config& config) const;  // that the config's programs compute in
  std::int64_t vocab_size() const { return vocab_size_; }
  const Rates& rates() const { return rates_; }

 private:
  const program::Target& target_;
  std::int64_t vocab_size_;
  Rates rates_;
};

double iteration_seconds(const plan::RunPlan& run, const config::Config& config,
                         const Rates& rates);

// The middle of each prediction; low and high factors bound the range.
struct TimeEstimate {
  double iteration_seconds = 0;
  double evaluation_seconds = 0;  // of both splits
  double tokens_per_second = 0;   // while training
  double run_seconds = 0;         // max_iters with all evaluations
  double low = 1, high = 1;       // of seconds
  double noise = 1;               // see Rates
};
TimeEstimate estimate_time(const plan::RunPlan& run, const config::Config& config,
                           const Rates& rates);

}  // namespace snug::fit
