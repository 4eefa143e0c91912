// One small call for every kernel that has a barrier, large enough that each barrier orders
// something: several warps, several tiles, several rows per block.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace snug::cuda {

struct Workout {
  std::string name;
  std::function<void()> run;
};
std::vector<Workout> workouts();

}  // namespace snug::cuda
