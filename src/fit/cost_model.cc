#include "fit/cost_model.h"

#include <algorithm>
#include <tuple>

namespace snug::fit {

Fix FixMaker::make(FixKind kind, Effect effect, const config::Config& after,
                   const Cost& cost) const {
  const ByteRange& now = model_.now().need;
  Fix fix;
  fix.kind = kind;
  fix.effect = model_.effect_there(effect, after);
  fix.changes = model_.changes(after);
  fix.needs_edit = model_.needs_edit(after);
  fix.config = after;
  fix.effective_batch = config::effective_batch_of(after);
  fix.need = cost.need;
  fix.time_ratio = cost.time_ratio;
  fix.parameters = cost.parameters;
  fix.reported_parameters = cost.reported_parameters;
  if (!fix.concerns_device()) return fix;
  fix.saved_bytes =
      ((now.low_bytes - fix.need.low_bytes) + (now.high_bytes - fix.need.high_bytes)) / 2;
  fix.fits = fits(cost.need.high_bytes);
  return fix;
}

void rank_fixes(std::vector<Fix>& fixes, const CostModel& model) {
  const auto place = [&](const Fix& fix) {
    const Preference preference = model.preference(fix);
    return std::make_tuple(!fix.asked_for, !fix.fits, preference.tier, fix.needs_edit,
                           preference.first, preference.second);
  };
  std::stable_sort(fixes.begin(), fixes.end(),
                   [&](const Fix& a, const Fix& b) { return place(a) < place(b); });
}

}  // namespace snug::fit
