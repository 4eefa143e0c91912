// What a run of Snug costs on one device, by its plan: bytes exact, seconds by the rates.
#pragma once

#include "fit/cost_model.h"
#include "fit/planner.h"

namespace snug {

class PlanCost final : public CostModel {
 public:
  // Both must outlive it; `loaded` is resolved.
  PlanCost(const Planner& planner, const LoadedConfig& loaded);

  const Cost& now() const override { return now_; }
  Cost cost(const Config& after) const override;
  std::vector<Change> changes(const Config& after) const override;
  // By effect, the mildest first, what helps before what does not; then the faster of those that
  // fit, then the smaller.
  Preference preference(const Fix& fix) const override;

  double iteration_seconds_now() const { return iteration_seconds_now_; }

 private:
  const Planner& planner_;
  const LoadedConfig& loaded_;
  double iteration_seconds_now_ = 0;
  Cost now_;
};

}  // namespace snug
