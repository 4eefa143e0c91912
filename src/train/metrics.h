// metrics.jsonl in out_dir: one JSON object per logged iteration and per evaluation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace snug::train {

constexpr const char* kMetricsFile = "metrics.jsonl";

class MetricsFile {
 public:
  // Appends to out_dir/metrics.jsonl; what an earlier, killed run wrote from `first_iteration` on
  // is dropped, so that a resumed run's file reads as if it had never stopped. out_dir may come
  // from anyone: ConfigError when something else than a regular file of this one name stands there,
  // and lines that are too long to be ours are not read. Throws DeviceError when it cannot be
  // written.
  MetricsFile(const std::string& out_dir, std::int64_t first_iteration);
  ~MetricsFile();
  MetricsFile(const MetricsFile&) = delete;
  MetricsFile& operator=(const MetricsFile&) = delete;

  struct Iteration {
    std::int64_t iteration;
    double loss, learning_rate, gradient_norm, milliseconds, tokens_per_second;
  };
  void add(const Iteration& entry);
  // `floor`: the least loss that any model can have on val, where that is known.
  void add_evaluation(std::int64_t iteration, double train_loss, double val_loss,
                      std::optional<double> floor);

  // What was added is on the disk when it returns: called before a checkpoint is saved, so that no
  // loss of power keeps the checkpoint and not its history. Failures are left to the save.
  void sync() noexcept;

 private:
  void write(std::string_view line);

  int descriptor_;
  std::int64_t byte_count_ = 0;
};

}  // namespace snug::train
