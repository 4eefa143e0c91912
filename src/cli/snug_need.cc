#include "cli/snug_need.h"

#include <fmt/format.h>

#include <algorithm>

#include "backend/cuda/cuda_target.h"
#include "fit/fixes.h"
#include "report/plan/fix_table.h"

namespace snug {

std::optional<SnugNeed> snug_need(const DoctorCase& c) {
  if (!c.memory || c.card_bytes <= 0) return std::nullopt;
  const Card& card = c.card != nullptr ? *c.card : card_named("rtx3060");
  const cuda::CudaTarget target(card.bf16_tflops > 0);
  LoadedConfig config = c.config;
  config.values.dtype = name_of(c.memory->run.compute);
  const Planner planner(target, c.vocab_size, card_rates(card));
  // Where others hold nearly all of the card not even the context has room.
  const std::int64_t usable =
      std::max<std::int64_t>(0, c.card_bytes - cuda_context(card).high_bytes);
  SnugNeed need;
  if (c.card != nullptr) need.device = card.name;
  need.total_bytes = planner.plan(config.values)->total_bytes();
  need.fits = need.total_bytes <= usable;
  if (need.fits) return need;
  const Fixes fixes = find_fixes(planner, config, plain_budget(usable, BudgetSource::kCard, "0%"));
  if (fixes.chosen) {
    need.total_bytes = fixes.chosen->total_bytes();
    need.fits = true;
    need.changes = fmt::format("{}", fmt::join(as_arguments(fixes.chosen->changes), " "));
  }
  return need;
}

}  // namespace snug
