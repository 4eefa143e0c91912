#include "fit/fixes.h"

#include <algorithm>

#include "fit/fix_list.h"
#include "fit/plan_cost.h"
#include "fit/search.h"
#include "fit/spare.h"

namespace snug::fit {
namespace {

// The fastest that fits: with the result kept if that is possible at all, else with AdamW's state
// and then the arithmetic in 16 bits.
std::optional<Found> find_best(Search& search, const Planner& planner,
                               const config::LoadedConfig& loaded, const Grid& grid,
                               std::int64_t budget_bytes) {
  if (auto found = search.fastest(budget_bytes)) return found;
  for (const config::Config& rounded : rounded_configs(planner, loaded)) {
    if (auto found = Search(planner, rounded, grid).fastest(budget_bytes)) return found;
  }
  return std::nullopt;
}

// The role that holds most bytes at the plan's peak.
LargestPart largest_part(const plan::RunPlan& run) {
  const plan::RoleBytes& roles = run.plan.steps[run.plan.peak_step].by_role;
  const auto largest = std::max_element(roles.begin(), roles.end());
  if (run.overhead_bytes > *largest) return {std::nullopt, run.overhead_bytes};
  return {static_cast<Role>(largest - roles.begin()), *largest};
}

bool same_settings(const Fix& a, const Fix& b) {
  return std::equal(a.changes.begin(), a.changes.end(), b.changes.begin(), b.changes.end(),
                    [](const config::Change& x, const config::Change& y) {
                      return x.key == y.key && x.after == y.after;
                    });
}

bool rounds_otherwise(const config::Config& before, const config::Config& after) {
  return before.optimizer_dtype != after.optimizer_dtype || before.dtype != after.dtype;
}

// Where nothing fits: what helps only together with others is shown on top of the smallest setting.
std::vector<Fix> fixes_of_smallest(const FixMaker& maker, const Planner& planner, const Fix& safest,
                                   const Grid& grid) {
  std::vector<Fix> fixes = single_fixes(maker, planner, safest.config, grid);
  std::erase_if(fixes, [](const Fix& f) {
    return f.effect == Effect::kSame || f.effect == Effect::kReordered;
  });
  for (Fix& fix : fixes) fix.on_smallest = true;
  fixes.push_back(safest);
  std::vector<Fix> others;  // a smaller model may fit without all of that
  add_smaller_pretrained(others, maker, maker.before());
  std::erase_if(others, [](const Fix& f) { return !f.fits; });
  fixes.insert(fixes.end(), others.begin(), others.end());
  return fixes;
}

// What fits but for the headroom that nobody asked for comes right behind what fits.
void move_barely_fitting(std::vector<Fix>& ranked, const Budget& budget) {
  std::stable_partition(ranked.begin(), ranked.end(), [&](const Fix& fix) {
    return verdict_of(fix.total_bytes(), budget) != Verdict::kDoesNotFit;
  });
}

// What measured rates cannot tell apart is no reason either.
double worth_changing(const Planner& planner) {
  return std::min(0.9, std::max(kWorthChanging, planner.rates().noise - 1));
}

// In place of the row with the same settings, if there is one.
void insert_chosen(Fixes& fixes) {
  std::erase_if(fixes.ranked, [&](const Fix& f) { return same_settings(f, *fixes.chosen); });
  fixes.ranked.insert(fixes.ranked.begin(), *fixes.chosen);
  fixes.chosen_at = 0;
}

}  // namespace

Fixes find_fixes(const Planner& planner, const config::LoadedConfig& loaded, const Budget& budget) {
  const PlanCost model(planner, loaded);
  const FixMaker maker(model, loaded, budget.usable_bytes);
  const config::Config& config = loaded.values;
  const Grid grid = full_grid(config, planner);
  Search search(planner, config, grid);
  Fixes fixes;
  fixes.before = config;
  fixes.fits_as_is = maker.fits_now();
  fixes.barely_as_is = !fixes.fits_as_is && model.now().need.high_bytes <= budget.limit_bytes();
  fixes.safest = maker.make(FixKind::kSmallest, Effect::kSame, search.smallest().config);
  fixes.safest_largest = largest_part(*planner.plan(fixes.safest->config));
  const auto best = find_best(search, planner, loaded, grid, budget.usable_bytes);
  const bool faster =
      best && !config.safest &&
      best->iteration_seconds < model.iteration_seconds_now() * (1 - worth_changing(planner));
  if (best && (!fixes.fits_as_is || faster)) {
    const bool rounded = rounds_otherwise(config, best->config);
    fixes.chosen = maker.make(FixKind::kCombination, rounded ? Effect::kRounding : Effect::kSame,
                              best->config);
  }
  const bool is_hopeless = !best && !fixes.fits_as_is;
  fixes.ranked = is_hopeless ? fixes_of_smallest(maker, planner, *fixes.safest, grid)
                             : single_fixes(maker, planner, config, grid);
  rank_fixes(fixes.ranked, model);
  move_barely_fitting(fixes.ranked, budget);
  if (fixes.chosen) insert_chosen(fixes);
  if (fixes.fits_as_is && !config.eval_only) fixes.spare = spare_uses(maker, planner);
  return fixes;
}

std::optional<Fix> fix_to_apply(const Fixes& fixes, const config::Config& config) {
  if (config.safest && (fixes.safest->fits || !fixes.chosen)) return fixes.safest;
  return fixes.chosen;
}

}  // namespace snug::fit
