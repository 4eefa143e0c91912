#include "fit/fixes.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "fit/fix_list.h"
#include "fit/search.h"

namespace snug {
namespace {

// The fastest that fits: with the result kept if that is possible at all, else with AdamW's state
// and then the arithmetic in 16 bits.
std::optional<Found> find_best(Search& search, const Planner& planner, const LoadedConfig& loaded,
                               const Grid& grid, std::int64_t budget_bytes) {
  if (auto found = search.fastest(budget_bytes)) return found;
  for (const Config& rounded : rounded_configs(planner, loaded)) {
    if (auto found = Search(planner, rounded, grid).fastest(budget_bytes)) return found;
  }
  return std::nullopt;
}

// The milder effect first, what helps before what does not, fitting before not fitting, then the
// faster, then the smaller.
void rank(std::vector<Fix>& fixes) {
  const auto place = [](const Fix& f) {
    return std::make_tuple(f.effect, !f.helps(), !f.fits, f.fits ? f.time_ratio : 0.0,
                           f.total_bytes);
  };
  std::stable_sort(fixes.begin(), fixes.end(),
                   [&](const Fix& a, const Fix& b) { return place(a) < place(b); });
}

std::string largest_part(const RunPlan& run) {
  const RoleBytes& roles = run.plan.steps[run.plan.peak_step].by_role;
  const auto largest = std::max_element(roles.begin(), roles.end());
  const auto role = static_cast<Role>(largest - roles.begin());
  if (run.overhead_bytes > *largest) {
    return fmt::format("the program itself takes up to {} of it", format_bytes(run.overhead_bytes));
  }
  return fmt::format(
      "{} alone {} {} of it", name_of(role),
      role == Role::kWeights || role == Role::kGradients || role == Role::kActivations ? "take"
                                                                                       : "takes",
      format_bytes(*largest));
}

bool same_settings(const Fix& a, const Fix& b) {
  return std::equal(
      a.changes.begin(), a.changes.end(), b.changes.begin(), b.changes.end(),
      [](const Change& x, const Change& y) { return x.key == y.key && x.after == y.after; });
}

}  // namespace

Fixes find_fixes(const Planner& planner, const LoadedConfig& loaded, const Budget& budget) {
  FixMaker maker(planner, loaded, budget);
  const Config& config = loaded.values;
  const Grid grid = full_grid(config, planner);
  Search search(planner, config, grid);
  Fixes fixes;
  fixes.fits_as_is = maker.total_bytes() <= budget.usable_bytes;
  fixes.safest = maker.make(search.smallest().config, Effect::kSame, "safest");
  fixes.safest_largest = largest_part(*planner.plan(fixes.safest.config));
  const auto best = find_best(search, planner, loaded, grid, budget.usable_bytes);
  const bool faster =
      best && !config.safest && best->iteration_seconds < maker.seconds() * (1 - kWorthChanging);
  const bool worth = best && (!fixes.fits_as_is || faster);
  if (worth) {
    const bool rounded = best->config.optimizer_dtype != config.optimizer_dtype ||
                         best->config.dtype != config.dtype;
    fixes.chosen = maker.make(best->config, rounded ? Effect::kRounding : Effect::kSame);
  }
  // What helps only beside others is shown on top of the smallest setting.
  const bool hopeless = !best && !fixes.fits_as_is;
  fixes.ranked = single_fixes(maker, planner, hopeless ? fixes.safest.config : config, grid);
  if (hopeless) {
    std::erase_if(fixes.ranked, [](const Fix& f) { return f.effect == Effect::kSame; });
    for (Fix& fix : fixes.ranked) fix.name = fmt::format("safest, {}", fix.name);
    fixes.ranked.push_back(fixes.safest);
  }
  rank(fixes.ranked);
  if (fixes.chosen) {
    std::erase_if(fixes.ranked, [&](const Fix& f) { return same_settings(f, *fixes.chosen); });
    const auto place = std::find_if(fixes.ranked.begin(), fixes.ranked.end(),
                                    [&](const Fix& f) { return f.effect >= fixes.chosen->effect; });
    fixes.chosen_at = static_cast<std::size_t>(place - fixes.ranked.begin());
    fixes.ranked.insert(place, *fixes.chosen);
  }
  return fixes;
}

std::optional<Fix> fix_to_apply(const Fixes& fixes, const Config& config) {
  if (config.safest && (fixes.safest.fits || !fixes.chosen)) return fixes.safest;
  return fixes.chosen;
}

}  // namespace snug
