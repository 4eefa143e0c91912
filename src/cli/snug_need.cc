#include "cli/snug_need.h"

#include <fmt/format.h>

#include <algorithm>

#include "device/build_features.h"
#include "device/card_device.h"
#include "fit/fixes.h"
#include "report/plan/fix_table.h"

namespace snug::cli {

std::optional<report::SnugNeed> snug_need(const doctor::DoctorCase& c) {
  if (!c.memory || c.card_bytes <= 0) return std::nullopt;
  const fit::Card& card = c.card != nullptr ? *c.card : fit::assumed_card();
  config::LoadedConfig config = c.config;
  config.values.dtype = name_of(c.memory->run.compute);
  const device::CardDevice device(card, config::Config{});
  const fit::Planner planner(device.target(), c.vocab_size,
                             device.rates(config.values, c.vocab_size));
  // Where others hold nearly all of the card not even the context has room.
  const std::int64_t given =
      std::max<std::int64_t>(0, c.card_bytes - c.memory->context_range.high_bytes);
  fit::Budget budget = fit::plain_budget(given, fit::BudgetSource::kCard, "5%");
  budget.headroom_is_default = true;
  report::SnugNeed need;
  if (c.card != nullptr) need.device = card.name;
  need.total_bytes = planner.plan(config.values)->total_bytes();
  need.support = device::card_support(card);
  need.card = &card;
  need.fits = need.total_bytes <= budget.limit_bytes();
  if (need.total_bytes <= budget.usable_bytes) return need;
  const fit::Fixes fixes = fit::find_fixes(planner, config, budget);
  if (fixes.chosen) {
    need.total_bytes = fixes.chosen->total_bytes();
    need.fits = true;
    need.changes = fmt::format("{}", fmt::join(report::as_arguments(fixes.chosen->changes), " "));
  }
  return need;
}

}  // namespace snug::cli
