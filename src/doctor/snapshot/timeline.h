// What was held over the time that was recorded, by role, in as many points as a picture has.
#pragma once

#include <cstdint>
#include <vector>

#include "doctor/snapshot/moment.h"

namespace snug::doctor::snapshot {

struct TimelinePoint {
  std::uint32_t event = 0;  // the one of its stretch after which most is held
  RoleBytes bytes{};
  std::uint32_t largest_life = kNoLife;  // the largest that is allocated in the stretch
};

struct Timeline {
  std::vector<TimelinePoint> points;
  std::size_t peak = 0;  // the point where most is held
};

constexpr std::size_t kTimelinePoints = 800;

// No points: nothing was recorded.
Timeline timeline_of(const Snapshot& snapshot, const Names& names,
                     std::size_t max_points = kTimelinePoints);

}  // namespace snug::doctor::snapshot
