// The single changes that the table of fixes is made of. Internal to fit.
#pragma once

#include <vector>

#include "fit/cost_model.h"
#include "fit/search.h"

namespace snug {

// Every single change, in no order. `base` is the config as it is, or the smallest one.
std::vector<Fix> single_fixes(const FixMaker& maker, const Planner& planner, const Config& base,
                              const Grid& grid);

// The config with 16-bit optimizer state, then (where the target has it) also 16-bit arithmetic.
// Empty where a checkpoint has settled the state's precision.
std::vector<Config> rounded_configs(const Planner& planner, const LoadedConfig& loaded);

}  // namespace snug
