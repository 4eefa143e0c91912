// The losses of a run, read back from its metrics.jsonl. The file may come from anyone, and may
// still be growing: what is not a whole line of ours is left out and counted.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace snug::metrics {

struct Point {
  double iteration = 0, value = 0;
};

struct RunHistory {
  std::string name;               // the folder's
  std::vector<Point> loss;        // of the training batches
  std::vector<Point> train_loss;  // of evaluations
  std::vector<Point> val_loss;
  std::vector<Point> learning_rate, gradient_norm, tokens_per_second;
  std::optional<double> entropy_floor;
  std::int64_t ignored_lines = 0;
};

// Takes one line. Values that are no number within 1e18 are left out.
void add_line(std::string_view line, RunHistory& history);

// Of `out_dir`, or of a metrics.jsonl itself. Throws DataError when there is none, and when it
// holds no loss at all.
RunHistory read_history(const std::filesystem::path& out_dir);

}  // namespace snug::metrics
