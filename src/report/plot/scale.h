// Round numbers for an axis, and where values lie on it.
#pragma once

#include <string>
#include <vector>

namespace snug::report {

struct Axis {
  double low = 0, high = 1;   // values at its ends
  double from = 0, to = 1;    // the same on the drawing
  std::vector<double> ticks;  // round values in [low, high]
  double step = 1;            // between ticks

  double at(double value) const { return from + (value - low) / (high - low) * (to - from); }
};

// An axis that shows [low, high] with about `tick_count` ticks, 1, 2 or 5 times a power of ten
// apart.
Axis make_axis(double low, double high, double from, double to, int tick_count);

// As precise as the distance between ticks asks for; thousands with a comma.
std::string tick_text(double value, double step);

}  // namespace snug::report
