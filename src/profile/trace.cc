#include "profile/trace.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace snug::profile {
namespace {

[[noreturn]] void refuse_trace(const std::string& path) {
  throw DeviceError(fmt::format("{} cannot be written: {}\n--profile=FILE names a file to be made",
                                path, std::strerror(errno)));
}

}  // namespace

OpEvent event_of(const backend::TimedOp& timed, double work_start_seconds) {
  return {timed.op->label, std::string(ops::name_of(*timed.op)),
          std::string(name_of(timed.phase->kind)), work_start_seconds + timed.start_seconds,
          timed.seconds};
}

void write_trace(const std::string& path, std::span<const OpEvent> events) {
  auto list = nlohmann::ordered_json::array();
  for (const auto& [what, name] : {std::pair{"process_name", "snug"}, {"thread_name", "ops"}}) {
    list.push_back(
        {{"name", what}, {"ph", "M"}, {"pid", 1}, {"tid", 1}, {"args", {{"name", name}}}});
  }
  for (const OpEvent& event : events) {
    list.push_back({{"name", event.label},
                    {"cat", event.op},
                    {"ph", "X"},
                    {"ts", event.start_seconds * 1e6},
                    {"dur", event.seconds * 1e6},
                    {"pid", 1},
                    {"tid", 1},
                    {"args", {{"op", event.op}, {"phase", event.phase}}}});
  }
  std::ofstream file(path);
  file << nlohmann::ordered_json{{"displayTimeUnit", "ms"}, {"traceEvents", list}} << "\n";
  if (!file.flush()) refuse_trace(path);
}

void require_writable(const std::string& path) {
  std::error_code ignored;
  const bool was_there = std::filesystem::exists(path, ignored);
  if (!std::ofstream(path, std::ios::app)) refuse_trace(path);
  if (!was_there) std::filesystem::remove(path, ignored);
}

TraceRecorder::TraceRecorder(std::string path) : path_(std::move(path)) { require_writable(path_); }

void TraceRecorder::watch(backend::Executor& executor, const std::function<void()>& step) {
  if (iterations_ == kIterations) return step();
  const Clock::time_point now = Clock::now();
  if (iterations_++ == 0) start_ = now;
  const double since_start = std::chrono::duration<double>(now - start_).count();
  for (const backend::TimedOp& timed : executor.time_ops(step)) {
    events_.push_back(event_of(timed, since_start));
  }
  write_trace(path_, events_);
}

}  // namespace snug::profile
