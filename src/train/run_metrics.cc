#include "train/run_metrics.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/error.h"

namespace snug::train {
namespace {

namespace fs = std::filesystem;

// Where the event files go. An out_dir may come from anyone: a link there could lead out of it.
fs::path own_event_folder(const std::string& out_dir) {
  fs::path folder = fs::path(out_dir) / metrics::kEventFolder;
  std::error_code failure;  // that of a folder that is not there is no failure
  const fs::file_type kind = fs::symlink_status(folder, failure).type();
  if (kind == fs::file_type::not_found || kind == fs::file_type::directory) return folder;
  if (kind == fs::file_type::none) {
    throw DeviceError(fmt::format("cannot look at {}: {}", folder.string(), failure.message()));
  }
  throw ConfigError(fmt::format(
      "{} {}\nSnug writes TensorBoard's files only to a folder of its own, for an out_dir may come "
      "from anyone\nmove it away, or name another --out_dir",
      folder.string(), kind == fs::file_type::symlink ? "is a link" : "is not a folder"));
}

}  // namespace

RunMetrics::RunMetrics(const std::string& out_dir, std::int64_t first_iteration,
                       std::optional<double> entropy_floor)
    : file_(out_dir, first_iteration),
      events_(own_event_folder(out_dir), first_iteration),
      entropy_floor_(entropy_floor) {}

void RunMetrics::add(const MetricsFile::Iteration& entry, const Machine& machine) {
  file_.add(entry);
  events_.add(entry.iteration,
              {{"loss/batch", entry.loss},
               {"learning_rate", entry.learning_rate},
               {"gradient_norm", entry.gradient_norm},
               {"speed/tokens_per_second", entry.tokens_per_second},
               {"speed/milliseconds", entry.milliseconds},
               {"memory/resident_GiB", static_cast<double>(machine.resident_bytes) / 0x1p30}});
  if (machine.mfu_percent >= 0) {
    events_.add(entry.iteration, {{"speed/mfu_percent", machine.mfu_percent}});
  }
}

void RunMetrics::add_evaluation(std::int64_t iteration, double train_loss, double val_loss) {
  file_.add_evaluation(iteration, train_loss, val_loss, entropy_floor_);
  events_.add(iteration, {{"loss/train", train_loss}, {"loss/val", val_loss}});
}

}  // namespace snug::train
