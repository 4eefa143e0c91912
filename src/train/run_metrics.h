// Everything that a run reports for later: metrics.jsonl, and TensorBoard's event files beside it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "metrics/event_file.h"
#include "train/metrics.h"

namespace snug::train {

class RunMetrics {
 public:
  // What an earlier, killed run wrote from `first_iteration` on is dropped, there and by
  // TensorBoard. Throws what MetricsFile and EventFile throw.
  RunMetrics(const std::string& out_dir, std::int64_t first_iteration,
             std::optional<double> entropy_floor);

  struct Machine {
    double mfu_percent;  // below 0 while it is not known yet
    std::int64_t resident_bytes;
  };
  void add(const MetricsFile::Iteration& entry, const Machine& machine);
  void add_evaluation(std::int64_t iteration, double train_loss, double val_loss);

  // metrics.jsonl is on the disk when it returns; see MetricsFile::sync. The event files can be
  // made again from it.
  void sync() noexcept { file_.sync(); }

 private:
  MetricsFile file_;
  metrics::EventFile events_;
  std::optional<double> entropy_floor_;
};

}  // namespace snug::train
