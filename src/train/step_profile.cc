#include "train/step_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "backend/cpu/bandwidth.h"
#include "base/error.h"
#include "train/profile_times.h"
#include "train/random_run.h"

namespace snug::train {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

// Collects what one iteration after the other did.
class Watch {
 public:
  Watch(RandomRun& run) : run_(run) {
    run.executor().observe([this](const program::Phase& phase, const ops::Op& op,
                                  std::int64_t first,
                                  std::int64_t end) { begin(phase, op, end - first); });
  }
  ~Watch() { run_.executor().observe({}); }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  void step(std::int64_t iteration) {
    events_.clear();
    now_.clear();
    origin_ = Clock::now();
    run_.engine().step(iteration);
    end();
    double all = 0;
    for (auto& [key, times] : now_) {
      seconds_[key].push_back(times.median_seconds);
      all += times.median_seconds;
    }
    iterations_.push_back(all);
  }

  StepProfile result() const {
    StepProfile profile;
    for (const auto& [key, times] : now_) {
      OpTimes row = times;
      row.median_seconds = quantile(seconds_.at(key), 0.5);
      row.quiet_seconds = quantile(seconds_.at(key), kQuiet);
      profile.ops.push_back(std::move(row));
    }
    std::ranges::sort(profile.ops, std::greater(), &OpTimes::median_seconds);
    profile.events = events_;
    profile.iterations = std::ssize(iterations_);
    profile.median_seconds = quantile(iterations_, 0.5);
    profile.quiet_seconds = quantile(iterations_, kQuiet);
    return profile;
  }

 private:
  void begin(const program::Phase& phase, const ops::Op& op, std::int64_t row_count) {
    end();
    const auto index = static_cast<std::size_t>(&op - phase.ops.data());
    const ops::Shapes shapes = program::shapes_of(run_.plan().program, phase, index);
    const ops::Work work = ops::work_of(op, shapes);
    // An op of a loop is begun once per chunk, with its part of the rows.
    const double part = shapes.loop == nullptr ? 1
                                               : static_cast<double>(row_count) /
                                                     static_cast<double>(shapes.row_count());
    OpTimes& times = now_[fmt::format("{} {}", name_of(phase.kind), ops::name_of(op))];
    times.phase = name_of(phase.kind);
    times.op = ops::name_of(op);
    times.calls += 1;
    times.flops += work.flops * part;
    times.bytes += work.bytes * part;
    current_ = &times;
    start_ = Clock::now();
    events_.push_back({op.label, times.op, times.phase, seconds_between(origin_, start_), 0});
  }

  void end() {
    if (current_ == nullptr) return;
    const double taken = seconds_between(start_, Clock::now());
    current_->median_seconds += taken;
    events_.back().seconds = taken;
    current_ = nullptr;
  }

  RandomRun& run_;
  std::map<std::string, OpTimes> now_;  // of the iteration under way
  std::map<std::string, std::vector<double>> seconds_;
  std::vector<double> iterations_;
  std::vector<OpEvent> events_;
  OpTimes* current_ = nullptr;
  Clock::time_point origin_, start_;
};

}  // namespace

double OpTimes::limit_seconds(double flop_rate, double byte_rate) const {
  const double arithmetic = flop_rate > 0 ? flops / flop_rate : 0;
  const double traffic = byte_rate > 0 ? bytes / byte_rate : 0;
  return std::max(arithmetic, traffic);
}

StepProfile profile_steps(const config::Config& config, double seconds) {
  const double byte_rate = cpu::measure_bandwidth();
  RandomRun run(config);
  const double flop_rate = run.engine().executor().measure_peak_flops();
  run.engine().initialize();  // measuring has overwritten the weights
  std::int64_t iteration = 0;
  while (iteration < kWarmUpIterations) run.engine().step(iteration++);
  Watch watch(run);
  const Clock::time_point start = Clock::now();
  while (iteration < kWarmUpIterations + kMinIterations ||
         seconds_between(start, Clock::now()) < seconds) {
    watch.step(iteration++);
  }
  StepProfile profile = watch.result();
  profile.flop_rate = flop_rate;
  profile.byte_rate = byte_rate;
  return profile;
}

void write_trace(const std::string& path, const StepProfile& profile) {
  auto events = nlohmann::ordered_json::array();
  for (const OpEvent& event : profile.events) {
    events.push_back({{"name", event.label},
                      {"cat", event.op},
                      {"ph", "X"},
                      {"ts", event.start_seconds * 1e6},
                      {"dur", event.seconds * 1e6},
                      {"pid", 1},
                      {"tid", 1},
                      {"args", {{"op", event.op}, {"phase", event.phase}}}});
  }
  std::ofstream file(path);
  file << nlohmann::ordered_json{{"displayTimeUnit", "ms"}, {"traceEvents", events}} << "\n";
  if (!file.flush()) {
    throw DeviceError(fmt::format("{} cannot be written\n--profile names a file to be made", path));
  }
}

}  // namespace snug::train
