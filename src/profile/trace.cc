#include "profile/trace.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace snug::profile {
namespace {

constexpr std::string_view kTail = "\n]}\n";

[[noreturn]] void refuse_trace(const std::string& path) {
  throw DeviceError(fmt::format("{} cannot be written: {}\n--profile=FILE names a file to be made",
                                path, std::strerror(errno)));
}

// A name in the viewer for the only process or its only thread.
nlohmann::ordered_json label(const char* what, const char* name) {
  return {{"name", what}, {"ph", "M"}, {"pid", 1}, {"tid", 1}, {"args", {{"name", name}}}};
}

nlohmann::ordered_json complete_event(const OpEvent& event) {
  return {{"name", event.label},
          {"cat", event.op},
          {"ph", "X"},
          {"ts", event.start_seconds * 1e6},
          {"dur", event.seconds * 1e6},
          {"pid", 1},
          {"tid", 1},
          {"args", {{"op", event.op}, {"phase", event.phase}}}};
}

}  // namespace

OpEvent event_of(const backend::TimedOp& timed, double work_start_seconds) {
  return {timed.op->label, std::string(ops::name_of(*timed.op)),
          std::string(name_of(timed.phase->kind)), work_start_seconds + timed.start_seconds,
          timed.seconds};
}

TraceFile::TraceFile(std::string path) : path_(std::move(path)), file_(path_) {
  file_ << R"({"displayTimeUnit":"ms","traceEvents":[)"
        << "\n"
        << label("process_name", "snug") << ",\n"
        << label("thread_name", "ops");
  complete();
}

void TraceFile::add(const OpEvent& event) { file_ << ",\n" << complete_event(event); }

// The next event overwrites the tail.
void TraceFile::complete() {
  const auto end = file_.tellp();
  file_ << kTail;
  if (!file_.flush()) refuse_trace(path_);
  file_.seekp(end);
}

void write_trace(const std::string& path, std::span<const OpEvent> events) {
  TraceFile file(path);
  for (const OpEvent& event : events) file.add(event);
  file.complete();
}

void require_writable(const std::string& path) {
  std::error_code ignored;
  const bool was_there = std::filesystem::exists(path, ignored);
  if (!std::ofstream(path, std::ios::app)) refuse_trace(path);
  if (!was_there) std::filesystem::remove(path, ignored);
}

TraceRecorder::TraceRecorder(std::string path, Tell tell)
    : path_(std::move(path)), tell_(std::move(tell)) {
  require_writable(path_);
}

void TraceRecorder::watch(backend::Executor& executor, const std::function<void()>& step) {
  if (iterations_ == kIterations) return step();
  const Clock::time_point now = Clock::now();
  if (iterations_++ == 0) start_ = now;
  const double since_start = std::chrono::duration<double>(now - start_).count();
  const std::vector<backend::TimedOp> ops = executor.time_ops(step);
  try {
    if (!file_) file_.emplace(path_);
    for (const backend::TimedOp& timed : ops) file_->add(event_of(timed, since_start));
    file_->complete();
  } catch (const DeviceError& error) {  // the iteration is done, and the run can go on
    iterations_ = kIterations;
    tell_(error.what());
  }
  if (iterations_ == kIterations) file_.reset();
}

}  // namespace snug::profile
