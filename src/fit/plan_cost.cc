#include "fit/plan_cost.h"

namespace snug::fit {
namespace {

double seconds_per_token(const config::Config& config, double iteration_seconds) {
  return iteration_seconds /
         static_cast<double>(config::effective_batch_of(config) * config.block_size);
}

Cost cost_of(const plan::RunPlan& run) {
  Cost cost;
  cost.need = {run.total_bytes(), run.total_bytes()};
  cost.parameters = run.model.parameter_count();
  cost.reported_parameters = run.model.reported_parameter_count();
  return cost;
}

}  // namespace

PlanCost::PlanCost(const Planner& planner, const config::LoadedConfig& loaded)
    : planner_(planner), loaded_(loaded) {
  const auto run = planner.plan(loaded.values);
  iteration_seconds_now_ = iteration_seconds(*run, loaded.values, planner.rates());
  now_ = cost_of(*run);
}

Cost PlanCost::cost(const config::Config& after) const {
  const auto run = planner_.plan(after);
  const double seconds = iteration_seconds(*run, after, planner_.rates());
  const double now = seconds_per_token(loaded_.values, iteration_seconds_now_);
  Cost cost = cost_of(*run);
  cost.time_ratio = now > 0 ? seconds_per_token(after, seconds) / now : 1;
  return cost;
}

std::vector<config::Change> PlanCost::changes(const config::Config& after) const {
  return config::changes_to(loaded_, after);
}

Effect PlanCost::effect_there(Effect effect, const config::Config& after) const {
  const bool is_card = planner_.target().space() == Space::kDevice;
  const bool is_split = after.batch_size != loaded_.values.batch_size;
  return effect == Effect::kSame && is_card && is_split ? Effect::kReordered : effect;
}

Preference PlanCost::preference(const Fix& fix) const {
  // Another order of sums is no reason to prefer another fix.
  const Effect effect = fix.effect == Effect::kReordered ? Effect::kSame : fix.effect;
  const int tier = 2 * static_cast<int>(effect) + (fix.helps() ? 0 : 1);
  // Of smaller pretrained models the largest that fits is wanted, not the fastest.
  const double first = fix.kind == FixKind::kSmallerPretrained
                           ? -static_cast<double>(fix.parameters)
                           : fix.time_ratio;
  return {tier, fix.fits ? first : 0.0, fix.total_bytes()};
}

}  // namespace snug::fit
