#include "metrics/run_history.h"

#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/error.h"

namespace snug::metrics {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFileName = "metrics.jsonl";
constexpr std::size_t kMaxLineBytes = 4096;  // ours have under 300
constexpr double kMaxValue = 1e18;           // a loss beyond it says no more than one of it
constexpr std::int64_t kMaxIteration = std::int64_t{1} << 53;

void take(const nlohmann::json& line, const char* key, double iteration, std::vector<Point>& out) {
  const auto found = line.find(key);
  if (found == line.end() || !found->is_number()) return;
  const double value = found->get<double>();
  if (std::abs(value) <= kMaxValue) out.push_back({iteration, value});
}

}  // namespace

void add_line(std::string_view text, RunHistory& history) {
  const auto line =
      text.size() > kMaxLineBytes ? nlohmann::json() : nlohmann::json::parse(text, nullptr, false);
  const auto iteration = line.find("iter");  // the end, where it is no object
  const bool ours = line.is_object() && iteration != line.end() && iteration->is_number_integer();
  const std::int64_t number = ours ? iteration->get<std::int64_t>() : -1;
  if (number < 0 || number > kMaxIteration) {
    history.ignored_lines += 1;
    return;
  }
  const auto at = static_cast<double>(number);
  take(line, "loss", at, history.loss);
  take(line, "train_loss", at, history.train_loss);
  take(line, "val_loss", at, history.val_loss);
  take(line, "lr", at, history.learning_rate);
  take(line, "grad_norm", at, history.gradient_norm);
  take(line, "tokens_per_second", at, history.tokens_per_second);
  std::vector<Point> floor;
  take(line, "floor", at, floor);
  if (!floor.empty()) history.entropy_floor = floor.front().value;
}

RunHistory read_history(const fs::path& out_dir) {
  std::error_code error;
  const fs::path path = fs::is_directory(out_dir, error) ? out_dir / kFileName : out_dir;
  RunHistory history;
  history.name =
      fs::is_directory(out_dir, error) ? out_dir.string() : out_dir.parent_path().string();
  while (history.name.size() > 1 && history.name.ends_with('/')) history.name.pop_back();
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw DataError(fmt::format("{} cannot be read: is {} the out_dir of a run?", path.string(),
                                out_dir.string()));
  }
  std::string line;
  for (char c; file.get(c);) {
    if (c != '\n') {
      if (line.size() <= kMaxLineBytes) line += c;
      continue;
    }
    add_line(line, history);
    line.clear();
  }
  if (history.loss.empty() && history.val_loss.empty()) {
    throw DataError(fmt::format("{} holds no losses yet", path.string()));
  }
  return history;
}

}  // namespace snug::metrics
