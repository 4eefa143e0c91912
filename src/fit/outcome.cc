#include "fit/outcome.h"

#include "config/fields.h"
#include "fit/fixes.h"

namespace snug::fit {

FitOutcome apply_fix(config::LoadedConfig& config, const Fixes& fixes, std::int64_t usable_bytes) {
  FitOutcome outcome;
  outcome.usable_bytes = usable_bytes;
  outcome.before = config.values;
  const auto fix = fix_to_apply(fixes, config.values);
  const bool nothing_fits = !fixes.fits_as_is && !fixes.barely_as_is && (!fix || !fix->fits);
  if (!fix || fix->changes.empty()) {
    if (nothing_fits) outcome.kind = FitOutcome::Kind::kNothingFits;
    return outcome;
  }
  outcome.kind = nothing_fits ? FitOutcome::Kind::kChangedInVain : FitOutcome::Kind::kChanged;
  outcome.for_speed = fixes.fits_as_is && !config.values.safest;
  outcome.fix = *fix;
  config::Origin by_fit;
  by_fit.kind = config::Origin::Kind::kFit;
  for (const config::Change& change : fix->changes) {
    const config::Field& field = *config::find_field(change.key);
    config::assign_field(config.values, field, config::field_value(fix->config, field));
    config.origins[change.key] = by_fit;
  }
  config::resolve(config);
  return outcome;
}

}  // namespace snug::fit
