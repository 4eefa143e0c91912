// Where the time of an iteration goes, op by op: a run on random tokens is watched for a few
// iterations. Data only; what is printed of it is the caller's.
#pragma once

#include <string>
#include <vector>

#include "config/config.h"

namespace snug::train {

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

// Plans and runs the config on this processor for about `seconds`; vocab_size must be set.
StepProfile profile_steps(const config::Config& config, double seconds);

// The events as Chrome's trace format, which Perfetto opens. Throws DeviceError.
void write_trace(const std::string& path, const StepProfile& profile);

}  // namespace snug::train
