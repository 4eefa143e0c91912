// What the profiles of processor and card have in common: how long is watched, and what is taken
// of the times.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace snug::train {

constexpr std::int64_t kWarmUpIterations = 2, kMinIterations = 3;
constexpr double kQuiet = 0.1;  // the part of the iterations in which the machine did little else

inline double quantile(std::vector<double> values, double part) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(part * static_cast<double>(values.size()))];
}

}  // namespace snug::train
