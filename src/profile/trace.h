// The ops of iterations as Chrome's trace format, which https://ui.perfetto.dev opens.
#pragma once

#include <chrono>
#include <fstream>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "backend/backend.h"

namespace snug::profile {

// One op as it was run; starts count from that of the trace.
struct OpEvent {
  std::string label, op, phase;
  double start_seconds = 0, seconds = 0;
};

OpEvent event_of(const backend::TimedOp& timed, double work_start_seconds);

// A file that is whole after each complete(), which throws DeviceError; nothing of it is held in
// memory.
class TraceFile {
 public:
  explicit TraceFile(std::string path);
  void add(const OpEvent& event);
  void complete();

 private:
  std::string path_;
  std::ofstream file_;
};

// Throws DeviceError.
void write_trace(const std::string& path, std::span<const OpEvent> events);

// Throws DeviceError where a trace could not be written: before the work that it is to tell of. A
// file that is there stays as it is.
void require_writable(const std::string& path);

// Watches the first iterations of a run.
class TraceRecorder {
 public:
  static constexpr int kIterations = 3;
  using Tell = std::function<void(const std::string& problem)>;

  // Throws DeviceError where the file cannot be written now; when that fails later, `tell` is
  // called and nothing more is traced.
  TraceRecorder(std::string path, Tell tell);

  // Runs `step`. As long as iterations are traced the file is completed after each, so that it is
  // whole however the run ends.
  void watch(backend::Executor& executor, const std::function<void()>& step);

 private:
  using Clock = std::chrono::steady_clock;

  std::string path_;
  Tell tell_;
  int iterations_ = 0;
  Clock::time_point start_{};
  std::optional<TraceFile> file_;
};

}  // namespace snug::profile
