#include "train/metrics.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>

#include "base/error.h"
#include "base/own_file.h"

namespace snug::train {
namespace {

constexpr std::string_view kIterationKey = "{\"iter\": ";
constexpr std::int64_t kMaxLineBytes = 1 << 16;  // ours are shorter by far

std::optional<std::int64_t> iteration_of(std::string_view line) {
  if (!line.starts_with(kIterationKey)) return std::nullopt;
  std::int64_t iteration = 0;
  const std::string_view number = line.substr(kIterationKey.size());
  const auto [end, error] = std::from_chars(number.begin(), number.end(), iteration);
  return error == std::errc() ? std::optional(iteration) : std::nullopt;
}

// Bytes of the file before its first line of iteration `first_iteration` or later, or of one that
// is torn or not ours.
std::int64_t bytes_to_keep(int descriptor, std::int64_t first_iteration) {
  std::array<char, kMaxLineBytes> buffer;
  std::int64_t kept = 0;
  while (true) {
    const ssize_t got = ::pread(descriptor, buffer.data(), buffer.size(), kept);
    if (got < 0 && errno == EINTR) continue;
    std::string_view text(buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    const std::int64_t before = kept;
    for (std::size_t end; (end = text.find('\n')) != text.npos; text.remove_prefix(end + 1)) {
      const auto iteration = iteration_of(text.substr(0, end));
      if (!iteration || *iteration >= first_iteration) return kept;
      kept += static_cast<std::int64_t>(end) + 1;
    }
    if (kept == before) return kept;  // no whole line within the longest
  }
}

int open_metrics(const std::string& path) {
  const int descriptor = open_own_file(
      path, O_RDWR | O_APPEND,
      "Snug writes its metrics only to a regular file of its own, for an out_dir may come from "
      "anyone\nmove it away, or name another --out_dir");
  if (descriptor >= 0) return descriptor;
  throw DeviceError(fmt::format("{} cannot be written: {}", path, std::strerror(errno)));
}

// JSON has no NaN and no infinity.
std::string json_number(double value) {
  return std::isfinite(value) ? fmt::format("{}", value) : "null";
}

}  // namespace

MetricsFile::MetricsFile(const std::string& out_dir, std::int64_t first_iteration)
    : descriptor_(open_metrics(out_dir + "/" + kMetricsFile)) {
  byte_count_ = bytes_to_keep(descriptor_, first_iteration);
  if (::ftruncate(descriptor_, byte_count_) == 0) return;
  const int reason = errno;
  ::close(descriptor_);
  throw DeviceError(
      fmt::format("{}/{} cannot be written: {}", out_dir, kMetricsFile, std::strerror(reason)));
}

MetricsFile::~MetricsFile() { ::close(descriptor_); }

void MetricsFile::add(const Iteration& e) {
  write(
      fmt::format("{}{}, \"loss\": {}, \"lr\": {}, \"grad_norm\": {}, \"time_ms\": {:.3f}, "
                  "\"tokens_per_second\": {:.1f}}}\n",
                  kIterationKey, e.iteration, json_number(e.loss), e.learning_rate,
                  json_number(e.gradient_norm), e.milliseconds, e.tokens_per_second));
}

void MetricsFile::add_evaluation(std::int64_t iteration, double train_loss, double val_loss,
                                 std::optional<double> floor) {
  write(fmt::format("{}{}, \"train_loss\": {}, \"val_loss\": {}{}}}\n", kIterationKey, iteration,
                    json_number(train_loss), json_number(val_loss),
                    floor ? fmt::format(", \"floor\": {}", json_number(*floor)) : ""));
}

// A full disk does not end the run here: the next save tells of it. Half a line is taken back.
void MetricsFile::write(std::string_view line) {
  const ssize_t written = ::write(descriptor_, line.data(), line.size());
  if (written == static_cast<ssize_t>(line.size())) {
    byte_count_ += written;
  } else if (written > 0 && ::ftruncate(descriptor_, byte_count_) != 0) {
    byte_count_ += written;
  }
}

void MetricsFile::sync() noexcept { ::fdatasync(descriptor_); }

}  // namespace snug::train
