#include "profile/op_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace snug::profile {
namespace {

constexpr double kQuiet = 0.1;  // the part of the iterations in which the machine did little else

double quantile(std::vector<double> values, double part) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(part * static_cast<double>(values.size()))];
}

}  // namespace

double OpTimes::limit_seconds(double flop_rate, double byte_rate) const {
  const double arithmetic = flop_rate > 0 ? flops / flop_rate : 0;
  const double traffic = byte_rate > 0 ? bytes / byte_rate : 0;
  return std::max(arithmetic, traffic);
}

void OpTimeTable::add(const backend::TimedOp& timed, const Prediction& predicted_seconds) {
  const program::Phase& phase = *timed.phase;
  const ops::Op& op = *timed.op;
  const auto index = static_cast<std::size_t>(&op - phase.ops.data());
  const ops::Shapes shapes = program::shapes_of(program_, phase, index);
  const ops::Work work = ops::work_of(op, shapes);
  // An op of a loop runs once per chunk, on its part of the rows.
  const double part = shapes.loop == nullptr ? 1
                                             : static_cast<double>(timed.row_count) /
                                                   static_cast<double>(shapes.row_count());
  OpTimes& times = now_[fmt::format("{} {}", name_of(phase.kind), ops::name_of(op))];
  times.phase = name_of(phase.kind);
  times.op = ops::name_of(op);
  times.calls += 1;
  times.flops += work.flops * part;
  times.bytes += work.bytes * part;
  times.median_seconds += timed.seconds;
  times.predicted_seconds += predicted_seconds(phase, index) * part;
  events_.push_back(event_of(timed, 0));
}

void OpTimeTable::add_iteration(const std::vector<backend::TimedOp>& ops,
                                const Prediction& predicted_seconds) {
  now_.clear();
  events_.clear();
  for (const backend::TimedOp& timed : ops) add(timed, predicted_seconds);
  double all = 0;
  for (const auto& [key, times] : now_) {
    seconds_[key].push_back(times.median_seconds);
    all += times.median_seconds;
  }
  iterations_.push_back(all);
}

StepProfile OpTimeTable::result() const {
  StepProfile profile;
  for (const auto& [key, times] : now_) {
    OpTimes row = times;
    row.median_seconds = quantile(seconds_.at(key), 0.5);
    row.quiet_seconds = quantile(seconds_.at(key), kQuiet);
    profile.predicted_seconds += row.predicted_seconds;
    profile.ops.push_back(std::move(row));
  }
  std::ranges::sort(profile.ops, std::greater(), &OpTimes::median_seconds);
  profile.events = events_;
  profile.iterations = std::ssize(iterations_);
  profile.median_seconds = quantile(iterations_, 0.5);
  profile.quiet_seconds = quantile(iterations_, kQuiet);
  return profile;
}

}  // namespace snug::profile
