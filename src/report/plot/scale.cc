#include "report/plot/scale.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/bytes.h"

namespace snug::report {

Axis make_axis(double low, double high, double from, double to, int tick_count) {
  // Too near to each other for a tick between them, or the same.
  if (!(high - low > 1e-9 * std::max(std::abs(low), std::abs(high)))) {
    const double around = std::max(std::abs(low) * 0.1, 0.5);
    low -= around;
    high += around;
  }
  Axis axis{low, high, from, to, {}, 1};
  const double rough = (high - low) / tick_count;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0, 10.0}) {
    axis.step = factor * power;
    if (axis.step >= rough * 0.999) break;
  }
  const double first = std::ceil(low / axis.step - 1e-9) * axis.step;
  for (int i = 0; i <= 2 * tick_count; ++i) {
    const double value = first + i * axis.step;
    if (value > high + 1e-9 * (high - low)) break;
    // Steps of 0.1 do not add up to 0 exactly.
    axis.ticks.push_back(std::abs(value) < 1e-9 * axis.step ? 0 : value);
  }
  return axis;
}

std::string tick_text(double value, double step) {
  if (std::abs(value) >= 1e15) return fmt::format("{:.3g}", value);
  if (step >= 1) return with_thousands(std::llround(value));
  const int digits = std::clamp(static_cast<int>(std::ceil(-std::log10(step) - 1e-9)), 1, 12);
  return fmt::format("{:.{}f}", value, digits);
}

}  // namespace snug::report
