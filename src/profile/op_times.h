// Where the time of an iteration goes, op by op, on any device: what was watched is added up by
// phase and kind of op. Data only; what is printed of it is the caller's.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "program/program.h"

namespace snug::profile {

// What the ops of one kind, in one phase, did and took in an iteration.
struct OpTimes {
  std::string phase, op;
  std::int64_t calls = 0;
  double flops = 0, bytes = 0;
  double median_seconds = 0, quiet_seconds = 0;  // quiet: the 10th percentile
  double predicted_seconds = 0;                  // cards: by the fit's rates

  // Of what the machine could do: the larger of its arithmetic and its traffic.
  double limit_seconds(double flop_rate, double byte_rate) const;
};

// One op of the last iteration, from its start on.
struct OpEvent {
  std::string label, op, phase;
  double start_seconds = 0, seconds = 0;
};

struct StepProfile {
  std::vector<OpTimes> ops;  // the slowest first
  std::vector<OpEvent> events;
  std::int64_t iterations = 0;
  double median_seconds = 0, quiet_seconds = 0;  // of an iteration
  double flop_rate = 0;                          // of square products in the run's precision
  double byte_rate = 0;                          // of memory
  double predicted_seconds = 0;                  // cards: of an iteration, by the fit's rates
};

// One run of an op, or of its part of a loop's rows.
struct WatchedOp {
  const program::Phase* phase = nullptr;
  const ops::Op* op = nullptr;
  std::int64_t row_count = 0;
  double start_seconds = 0, seconds = 0;  // the start from that of the iteration
  double predicted_seconds = 0;           // of the whole op, not of a part of its rows
};

// Iterations of one program, added up.
class OpTimeTable {
 public:
  explicit OpTimeTable(const program::Program& program) : program_(program) {}

  void begin_iteration();
  void add(const WatchedOp& watched);
  void end_iteration();

  StepProfile result() const;

 private:
  const program::Program& program_;
  std::map<std::string, OpTimes> now_;  // of the iteration under way, median_seconds as a sum
  std::map<std::string, std::vector<double>> seconds_;
  std::vector<double> iterations_;
  std::vector<OpEvent> events_;
};

// The events as Chrome's trace format, which Perfetto opens. Throws DeviceError.
void write_trace(const std::string& path, const StepProfile& profile);

}  // namespace snug::profile
