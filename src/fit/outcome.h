// What --fit did to a run: the settings it changed and why. Data; report/plan/fix_text.h has the
// words, train/fit_story.h keeps it in checkpoints.
#pragma once

#include <cstdint>

#include "config/config.h"
#include "fit/fix.h"

namespace snug::fit {

struct FitOutcome {
  enum class Kind : std::uint8_t {
    kFitsAsIs,      // nothing had to change, and nothing is predicted to be faster
    kNothingFits,   // nothing that keeps the effective batch fits, and nothing was changed
    kChanged,       // `fix` was applied, and it fits
    kChangedInVain  // `fix` was applied: the smallest there is, which does not fit either
  };
  Kind kind = Kind::kFitsAsIs;
  bool for_speed = false;         // kChanged: it fitted before, and is predicted to be faster now
  std::int64_t usable_bytes = 0;  // of the budget
  config::Config before;
  Fix fix;  // kChanged, kChangedInVain

  bool has_changed() const { return kind == Kind::kChanged || kind == Kind::kChangedInVain; }
};

// Applies what fix_to_apply() chose to `config`, and resolves it.
FitOutcome apply_fix(config::LoadedConfig& config, const Fixes& fixes, std::int64_t usable_bytes);

}  // namespace snug::fit
