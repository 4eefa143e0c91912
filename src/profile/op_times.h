// Where the time of an iteration goes, op by op, on any device: what was watched is added up by
// phase and kind of op. Data only; what is printed of it is the caller's.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "profile/trace.h"
#include "program/program.h"

namespace snug::profile {

// What the ops of one kind, in one phase, did and took in an iteration.
struct OpTimes {
  std::string phase, op;
  std::int64_t calls = 0;
  double flops = 0, bytes = 0;
  double median_seconds = 0, quiet_seconds = 0;  // quiet: the 10th percentile
  double predicted_seconds = 0;                  // by the fit's rates

  // Of what the machine could do: the larger of its arithmetic and its traffic.
  double limit_seconds(double flop_rate, double byte_rate) const;
};

struct StepProfile {
  std::vector<OpTimes> ops;     // the slowest first
  std::vector<OpEvent> events;  // of the last iteration
  std::int64_t iterations = 0;
  double median_seconds = 0, quiet_seconds = 0;  // of an iteration
  double flop_rate = 0;                          // of square products in the run's precision
  double byte_rate = 0;                          // of memory
  double predicted_seconds = 0;                  // of an iteration, by the fit's rates
};

// Iterations of one program, added up.
class OpTimeTable {
 public:
  explicit OpTimeTable(const program::Program& program) : program_(program) {}

  // `predicted_seconds`: what the whole op is expected to take, not a part of its rows.
  using Prediction = std::function<double(const program::Phase&, std::size_t op)>;
  void add_iteration(const std::vector<backend::TimedOp>& ops, const Prediction& predicted_seconds);

  StepProfile result() const;

 private:
  void add(const backend::TimedOp& timed, const Prediction& predicted_seconds);

  const program::Program& program_;
  std::map<std::string, OpTimes> now_;  // of the iteration under way, median_seconds as a sum
  std::map<std::string, std::vector<double>> seconds_;
  std::vector<double> iterations_;
  std::vector<OpEvent> events_;
};

}  // namespace snug::profile
