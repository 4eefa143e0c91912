// The single changes that the table of fixes is made of. Internal to fit.
#pragma once

#include <vector>

#include "fit/cost_model.h"
#include "fit/search.h"

namespace snug::fit {

// The model is what a checkpoint or a published one made it.
bool model_is_given(const config::LoadedConfig& loaded);

// Each smaller one of OpenAI's models where init_from names one; else nothing.
void add_smaller_pretrained(std::vector<Fix>& fixes, const FixMaker& maker,
                            const config::Config& base);

// Every single change, in no order. `base` is the config as it is, or the smallest one.
std::vector<Fix> single_fixes(const FixMaker& maker, const Planner& planner,
                              const config::Config& base, const Grid& grid);

// The config with 16-bit optimizer state, then (where the target has it) also 16-bit arithmetic.
// Empty where a checkpoint has settled the state's precision.
std::vector<config::Config> rounded_configs(const Planner& planner,
                                            const config::LoadedConfig& loaded);

}  // namespace snug::fit
