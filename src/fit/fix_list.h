// The single changes that the table of fixes is made of. Internal to fit.
#pragma once

#include <string>
#include <vector>

#include "fit/fixes.h"
#include "fit/search.h"

namespace snug {

// Turns configs into fixes: plans and times them, and compares them with the config as it is.
class FixMaker {
 public:
  FixMaker(const Planner& planner, const LoadedConfig& loaded, const Budget& budget);

  // An empty name is made from the changes.
  Fix make(const Config& config, Effect effect, std::string name = "") const;

  const Config& before() const { return loaded_.values; }
  const LoadedConfig& loaded() const { return loaded_; }
  std::int64_t total_bytes() const { return total_bytes_; }  // of the config as it is
  double seconds() const { return seconds_; }
  std::int64_t usable_bytes() const { return budget_.usable_bytes; }

 private:
  const Planner& planner_;
  const LoadedConfig& loaded_;
  const Budget& budget_;
  std::int64_t total_bytes_;
  double seconds_;
};

// Every single change, in no order. `base` is the config as it is, or the smallest one.
std::vector<Fix> single_fixes(const FixMaker& maker, const Planner& planner, const Config& base,
                              const Grid& grid);

// The config with 16-bit optimizer state, then (where the target has it) also 16-bit arithmetic.
// Empty where a checkpoint has settled the state's precision.
std::vector<Config> rounded_configs(const Planner& planner, const LoadedConfig& loaded);

}  // namespace snug
