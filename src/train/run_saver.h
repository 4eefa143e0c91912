// When a run's checkpoints are written, and what a failure to write one means: the weights are in
// memory and the run is healthy, so that it goes on and tries again. It ends only when it is over,
// or after so many tries that nobody is going to make room.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "console/console.h"
#include "train/run_metrics.h"
#include "train/start.h"

namespace snug::train {

class RunSaver {
 public:
  struct Patience {
    std::chrono::seconds interval{60};  // to the next try
    // Failures within one interval count once, so that this is half an hour, however often the run
    // evaluates.
    int max_failures = 30;
  };

  // `run`, `metrics` and `console` must outlive it. `metrics` becomes a new file when out_dir was
  // moved away.
  RunSaver(const StartedRun& run, std::optional<RunMetrics>& metrics, console::Console& console,
           Patience patience);

  // True when the state is saved. False when that failed, which the console tells; after
  // max_failures it throws SaveFailed.
  bool try_save(const checkpoint::TrainingState& state, bool is_best);
  // Throws SaveFailed at once.
  void save(const checkpoint::TrainingState& state, bool is_best);
  // The last try failed, and it is time for the next.
  bool retry_due() const;

  // The iteration of the newest checkpoint that this run saved or started from; -1 without one.
  std::int64_t saved_iteration() const { return saved_iteration_; }
  const std::string& folder() const { return folder_; }  // of what this run saved last, or ""

 private:
  void open_metrics(std::int64_t iteration);

  const StartedRun& run_;
  std::optional<RunMetrics>& metrics_;
  console::Console& console_;
  const Patience patience_;
  std::int64_t saved_iteration_;
  std::string folder_;
  int failure_count_ = 0;
  std::chrono::steady_clock::time_point last_try_{}, last_counted_{};
};

}  // namespace snug::train
