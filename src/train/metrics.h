// metrics.jsonl in out_dir: one JSON object per logged iteration and per evaluation.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

namespace snug {

constexpr const char* kMetricsFile = "metrics.jsonl";

class MetricsFile {
 public:
  // Appends to out_dir/metrics.jsonl; what an earlier, killed run wrote from `first_iteration` on
  // is dropped, so that a resumed run's file reads as if it had never stopped. Throws DeviceError.
  MetricsFile(const std::string& out_dir, std::int64_t first_iteration);

  struct Iteration {
    std::int64_t iteration;
    double loss, learning_rate, gradient_norm, milliseconds, tokens_per_second;
  };
  void add(const Iteration& entry);
  void add_evaluation(std::int64_t iteration, double train_loss, double val_loss);

 private:
  void write(const std::string& line);

  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, Closer> file_;
};

}  // namespace snug
