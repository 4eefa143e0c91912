// Fixes: what can be changed so that a run fits, each planned and timed for real, best first.
#pragma once

#include <optional>

#include "config/config.h"
#include "fit/budget.h"
#include "fit/fix.h"
#include "fit/planner.h"

namespace snug::fit {

// A setting that fits is not changed for less than this share of its time.
constexpr double kWorthChanging = 0.05;

// `loaded` must be resolved. Of the result:
// - `chosen`: the fastest setting that fits and keeps the result; if there is none, the fastest
// that
//   fits and keeps the effective batch; nothing when the config as it is is that setting (or within
//   kWorthChanging of it), or when nothing fits.
// - `safest`: the fewest bytes at the same result.
// - `ranked`: `chosen`, the fitting ones, then the others, each by effect, the mildest first, then
// by
//   time. Where nothing fits, on top of `safest`.
// - `spare`: see spare_uses().
Fixes find_fixes(const Planner& planner, const config::LoadedConfig& loaded, const Budget& budget);

// What `--fit` would run: chosen, or nothing when nothing fits or nothing has to change. With
// config.safest: safest if it fits, else chosen, and if nothing fits safest all the same.
std::optional<Fix> fix_to_apply(const Fixes& fixes, const config::Config& config);

}  // namespace snug::fit
