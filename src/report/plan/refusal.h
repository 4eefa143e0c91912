// What a command says instead of starting a run that does not fit.
#pragma once

#include <string>

#include "base/error.h"
#include "fit/fixes.h"
#include "plan/run_plan.h"
#include "report/catalogue/messages.h"

namespace snug::report {

// What is needed, and which part of it is the largest.
CapacityError does_not_fit(const plan::RunPlan& run, const fit::Budget& budget, Language language);
// The same with the ranked fixes, or with the smallest possible need when none helps. `note`: more
// lines on why, before them.
CapacityError does_not_fit(const plan::RunPlan& run, const fit::Budget& budget,
                           const fit::Fixes& fixes, Language language,
                           const std::string& note = "");

}  // namespace snug::report
