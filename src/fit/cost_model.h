// What a config costs where it runs: the one thing in which fixes for Snug and for nanoGPT on
// PyTorch differ. FixMaker turns changed configs into fixes by it, rank_fixes() orders them.
#pragma once

#include <cstdint>
#include <vector>

#include "fit/fix.h"

namespace snug::fit {

struct Cost {
  ByteRange need;         // of the device
  double time_ratio = 1;  // seconds per token against the config as it is
  std::int64_t parameters = 0, reported_parameters = 0;
};

// Where a fix stands among others, apart from what rank_fixes() sees itself; the lower comes first.
struct Preference {
  int tier = 0;  // how far it goes
  double first = 0;
  std::int64_t second = 0;  // among equals by `first`
};

class CostModel {
 public:
  virtual ~CostModel() = default;

  virtual const Cost& now() const = 0;  // of the config as it is
  virtual Cost cost(const config::Config& after) const = 0;
  // The keys to set so that the config as it is becomes `after`.
  virtual std::vector<config::Change> changes(const config::Config& after) const = 0;
  // Does `after` take more than keys?
  virtual bool needs_edit(const config::Config&) const { return false; }
  virtual Preference preference(const Fix& fix) const = 0;
  // What a change that is called `effect` does where it runs.
  virtual Effect effect_there(Effect effect, const config::Config&) const { return effect; }
};

class FixMaker {
 public:
  // `model` and `loaded` must outlive the maker. `usable_bytes`: what the need may be; 0: not
  // known, then nothing is said to fit.
  FixMaker(const CostModel& model, const config::LoadedConfig& loaded, std::int64_t usable_bytes)
      : model_(model), loaded_(loaded), usable_bytes_(usable_bytes) {}

  Fix make(FixKind kind, Effect effect, const config::Config& after) const {
    return make(kind, effect, after, model_.cost(after));
  }
  // For what the model cannot see in a config. A need of 0 is one without the device.
  Fix make(FixKind kind, Effect effect, const config::Config& after, const Cost& cost) const;

  const config::Config& before() const { return loaded_.values; }
  const config::LoadedConfig& loaded() const { return loaded_; }
  std::int64_t usable_bytes() const { return usable_bytes_; }
  bool fits(std::int64_t bytes) const { return usable_bytes_ > 0 && bytes <= usable_bytes_; }
  bool fits_now() const { return fits(model_.now().need.high_bytes); }

 private:
  const CostModel& model_;
  const config::LoadedConfig& loaded_;
  std::int64_t usable_bytes_;
};

// The best first: what the cause asks for, the fitting ones, then by the model's tier, those
// without an edit, then by the model's preference. Equals keep their order.
void rank_fixes(std::vector<Fix>& fixes, const CostModel& model);

}  // namespace snug::fit
