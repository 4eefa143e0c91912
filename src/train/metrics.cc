#include "train/metrics.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
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

}  // namespace

MetricsFile::MetricsFile(const std::string& out_dir, std::int64_t first_iteration) {
  const std::string path = out_dir + "/metrics.jsonl";
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
  fmt::print(file_.get(),
             "{}{}, \"loss\": {}, \"lr\": {}, \"grad_norm\": {}, \"time_ms\": {:.3f}, "
             "\"tokens_per_second\": {:.1f}}}\n",
             kIterationKey, e.iteration, e.loss, e.learning_rate, e.gradient_norm, e.milliseconds,
             e.tokens_per_second);
  std::fflush(file_.get());
}

void MetricsFile::add_evaluation(std::int64_t iteration, double train_loss, double val_loss) {
  fmt::print(file_.get(), "{}{}, \"train_loss\": {}, \"val_loss\": {}}}\n", kIterationKey,
             iteration, train_loss, val_loss);
  std::fflush(file_.get());
}

}  // namespace snug
