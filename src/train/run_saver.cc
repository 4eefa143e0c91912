#include "train/run_saver.h"

#include <fmt/format.h>

namespace snug::train {

RunSaver::RunSaver(const StartedRun& run, std::optional<RunMetrics>& metrics,
                   console::Console& console, Patience patience)
    : run_(run),
      metrics_(metrics),
      console_(console),
      patience_(patience),
      saved_iteration_(run.resume ? run.state.iteration : -1) {}

void RunSaver::save(const checkpoint::TrainingState& state, bool is_best) {
  const std::string& out_dir = run_.config.values.out_dir;
  console_.line(fmt::format("saving checkpoint to {}", out_dir));
  last_try_ = std::chrono::steady_clock::now();
  if (const auto moved = run_.store->reclaim()) {
    console_.warn(*moved);
    metrics_.reset();
  }
  if (!metrics_) open_metrics(state.iteration);
  metrics_->sync();
  const checkpoint::Saved saved = run_.engine->save(*run_.store, state, is_best);
  for (const std::string& warning : saved.warnings) console_.warn(warning);
  saved_iteration_ = state.iteration;
  folder_ = saved.folder;
  failure_count_ = 0;
}

void RunSaver::open_metrics(std::int64_t iteration) try {
  metrics_.emplace(run_.config.values.out_dir, iteration, run_.entropy_floor);
} catch (const Error& error) {  // as a save that fails: the run goes on, the next one tries again
  throw checkpoint::SaveFailed(error.what());
}

bool RunSaver::try_save(const checkpoint::TrainingState& state, bool is_best) {
  try {
    save(state, is_best);
    return true;
  } catch (const checkpoint::SaveFailed& error) {
    if (failure_count_ == 0 || last_try_ - last_counted_ >= patience_.interval) {
      last_counted_ = last_try_;
      if (++failure_count_ >= patience_.max_failures) throw;
    }
    console_.warn(fmt::format("warning: {}\nthe run goes on and tries again in {} seconds",
                              error.what(), patience_.interval.count()));
    return false;
  }
}

bool RunSaver::retry_due() const {
  return failure_count_ > 0 && std::chrono::steady_clock::now() - last_try_ >= patience_.interval;
}

}  // namespace snug::train
