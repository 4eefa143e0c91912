// What a command says instead of starting a run that does not fit.
#pragma once

#include "base/error.h"
#include "fit/fixes.h"
#include "plan/run_plan.h"

namespace snug {

// What is needed, and which part of it is the largest.
CapacityError does_not_fit(const RunPlan& run, const Budget& budget);
// The same with the ranked fixes, or with the smallest possible need when none helps.
CapacityError does_not_fit(const RunPlan& run, const Budget& budget, const Fixes& fixes);

}  // namespace snug
