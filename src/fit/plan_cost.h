// What a run of Snug costs on one device, by its plan: bytes exact, seconds by the rates.
#pragma once

#include "fit/cost_model.h"
#include "fit/planner.h"

namespace snug::fit {

class PlanCost final : public CostModel {
 public:
  // Both must outlive it; `loaded` is resolved.
  PlanCost(const Planner& planner, const config::LoadedConfig& loaded);

  const Cost& now() const override { return now_; }
  Cost cost(const config::Config& after) const override;
  std::vector<config::Change> changes(const config::Config& after) const override;
  // By effect, the mildest first, what helps before what does not; then the faster of those that
  // fit, then the smaller.
  Preference preference(const Fix& fix) const override;
  // On a card another micro-batch is summed in another order: the library chooses a product by its
  // shape. Every other setting keeps the bits there too.
  Effect effect_there(Effect effect, const config::Config& after) const override;

  double iteration_seconds_now() const { return iteration_seconds_now_; }

 private:
  const Planner& planner_;
  const config::LoadedConfig& loaded_;
  double iteration_seconds_now_ = 0;
  Cost now_;
};

}  // namespace snug::fit
