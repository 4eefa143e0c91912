// Fixes: what can be changed so that a run fits, each planned and timed for real, best first.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "fit/budget.h"
#include "fit/planner.h"

namespace snug {

// What a fix does to the trained weights, the mildest first.
enum class Effect {
  kSame,        // the same bits on the CPU; on a card the same sums in the same order
  kEvaluation,  // the same weights; the printed losses are of shorter contexts
  kRounding,    // the same training, rounded otherwise
  kFewerSequences,
  kShorterContext,
  kSmallerModel,
};

struct Fix {
  std::string name;  // "batch 8, accumulate 64"
  Effect effect;
  std::vector<Change> changes;
  Config config;  // with the changes
  std::int64_t effective_batch;
  std::int64_t total_bytes, saved_bytes;  // saved against the config as it is; may be negative
  double time_ratio;                      // seconds per token against the config as it is
  std::int64_t parameters;
  bool fits;

  // Saves bytes or time.
  bool helps() const { return saved_bytes > 0 || time_ratio < 0.99; }
  // The trained weights cannot change.
  bool same_result() const { return effect == Effect::kSame || effect == Effect::kEvaluation; }
};

struct Fixes {
  // The fastest setting that fits and keeps the result; if there is none, the fastest that fits
  // and keeps the effective batch; nothing when the config as it is is that setting (or within
  // kWorthChanging of it), or when nothing fits.
  std::optional<Fix> chosen;
  bool fits_as_is = false;
  Fix safest;                  // fewest bytes at the same result
  std::string safest_largest;  // its largest part: "weights take 474.53 MiB of it"
  // By effect, the mildest first; of one effect `chosen`, then the fitting ones, then by time.
  std::vector<Fix> ranked;
  std::optional<std::size_t> chosen_at;  // in `ranked`
};

// A setting that fits is not changed for less than this share of its time.
constexpr double kWorthChanging = 0.05;

// `loaded` must be resolved.
Fixes find_fixes(const Planner& planner, const LoadedConfig& loaded, const Budget& budget);

// What `--fit` would run: chosen, or nothing when nothing fits or nothing has to change. With
// config.safest: safest if it fits, else chosen, and if nothing fits safest all the same.
std::optional<Fix> fix_to_apply(const Fixes& fixes, const Config& config);

}  // namespace snug
