#include "backend/cpu/team_gauge.h"

#include <algorithm>

namespace snug::cpu {

const TeamGauge::Duration TeamGauge::kWindow = std::chrono::milliseconds(20);
const TeamGauge::Duration TeamGauge::kShortestAlone = std::chrono::milliseconds(100);
const TeamGauge::Duration TeamGauge::kLongestAlone = std::chrono::seconds(2);

TeamGauge& TeamGauge::of_this_thread() {
  thread_local TeamGauge gauge;
  return gauge;
}

void TeamGauge::add(const Region& r) {
  // One that came too late for any task says nothing of how long a task takes.
  if (r.own_count == 0) return;
  together_ += r.end - r.start;
  alone_ += (r.own_end - r.start) * r.task_count / r.own_count;
  if (together_ < kWindow) return;
  if (together_ > alone_) {
    next_alone_ = std::clamp(2 * next_alone_, kShortestAlone, kLongestAlone);
    alone_until_ = r.end + next_alone_;
  } else {
    next_alone_ /= 2;
  }
  together_ = alone_ = {};
}

}  // namespace snug::cpu
