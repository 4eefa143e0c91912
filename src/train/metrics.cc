#include "train/metrics.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/error.h"

namespace snug {
namespace {

constexpr const char* kIterationKey = "{\"iter\": ";

// Bytes of the file before its first line of iteration `first_iteration` or later, or of a torn
// one.
std::uintmax_t bytes_to_keep(const std::string& path, std::int64_t first_iteration) {
  std::ifstream file(path, std::ios::binary);
  std::uintmax_t kept = 0;
  for (std::string line; std::getline(file, line) && !file.eof();) {
    if (line.rfind(kIterationKey, 0) != 0) break;
    if (std::strtoll(line.c_str() + std::strlen(kIterationKey), nullptr, 10) >= first_iteration) {
      break;
    }
    kept += line.size() + 1;
  }
  return kept;
}

// JSON has no NaN and no infinity.
std::string json_number(double value) {
  return std::isfinite(value) ? fmt::format("{}", value) : "null";
}

}  // namespace

MetricsFile::MetricsFile(const std::string& out_dir, std::int64_t first_iteration) {
  const std::string path = out_dir + "/" + kMetricsFile;
  std::error_code error;
  if (std::filesystem::exists(path, error)) {
    std::filesystem::resize_file(path, bytes_to_keep(path, first_iteration), error);
  }
  file_.reset(std::fopen(path.c_str(), "a"));
  if (!file_ || error) {
    throw DeviceError(fmt::format("{} cannot be written: {}", path,
                                  error ? error.message() : std::strerror(errno)));
  }
}

void MetricsFile::add(const Iteration& e) {
  write(
      fmt::format("{}{}, \"loss\": {}, \"lr\": {}, \"grad_norm\": {}, \"time_ms\": {:.3f}, "
                  "\"tokens_per_second\": {:.1f}}}\n",
                  kIterationKey, e.iteration, json_number(e.loss), e.learning_rate,
                  json_number(e.gradient_norm), e.milliseconds, e.tokens_per_second));
}

void MetricsFile::add_evaluation(std::int64_t iteration, double train_loss, double val_loss) {
  write(fmt::format("{}{}, \"train_loss\": {}, \"val_loss\": {}}}\n", kIterationKey, iteration,
                    json_number(train_loss), json_number(val_loss)));
}

// A full disk does not end the run here: the next save does, and says more.
void MetricsFile::write(const std::string& line) {
  std::fputs(line.c_str(), file_.get());
  std::fflush(file_.get());
}

}  // namespace snug
