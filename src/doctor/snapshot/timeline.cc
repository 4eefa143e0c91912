#include "doctor/snapshot/timeline.h"

#include <algorithm>

namespace snug::doctor::snapshot {
namespace {

// All held bytes are followed in steps of so many events that this many suffice.
constexpr std::size_t kMaxSteps = 2 << 20;

struct Stretches {
  std::uint32_t first_event = 0, event_count = 0;  // of the record that is kept
  std::uint32_t step = 1;
  std::size_t step_count = 0;

  std::size_t step_of(std::uint32_t event) const {
    return event <= first_event ? 0 : (event - first_event) / step;
  }
};

// Of each of `count` equal stretches the step at whose end most is held.
std::vector<std::size_t> fullest_steps(const Trace& trace, const Stretches& all,
                                       std::size_t count) {
  std::vector<std::int64_t> change(all.step_count + 1);
  for (const Life& life : trace.lives) {
    change[all.step_of(life.born)] += life.bytes;
    if (life.died != kNeverFreed) change[all.step_of(life.died)] -= life.bytes;
  }
  std::vector<std::size_t> fullest(count);
  std::int64_t held = 0;
  for (std::size_t i = 0, step = 0; i < count; ++i) {
    const std::size_t end = (i + 1) * all.step_count / count;
    std::int64_t max_bytes = INT64_MIN;
    for (; step < end; ++step) {
      held += change[step];
      if (held <= max_bytes) continue;
      max_bytes = held;
      fullest[i] = step;
    }
  }
  return fullest;
}

void add_life(const Stretches& all, const std::vector<std::size_t>& fullest, const Life& life,
              std::size_t role, std::vector<RoleBytes>& change) {
  const auto from = std::lower_bound(fullest.begin(), fullest.end(), all.step_of(life.born));
  const auto to = life.died == kNeverFreed
                      ? fullest.end()
                      : std::lower_bound(from, fullest.end(), all.step_of(life.died));
  change[static_cast<std::size_t>(from - fullest.begin())][role] += life.bytes;
  change[static_cast<std::size_t>(to - fullest.begin())][role] -= life.bytes;
}

// What was there before the record and is still there.
RoleBytes held_throughout(const Snapshot& snapshot, const Names& names) {
  RoleBytes bytes{};
  for (const Segment& segment : snapshot.segments) {
    for (std::uint32_t i = 0; i < segment.block_count; ++i) {
      const std::uint32_t index = segment.first_block + i;
      const Block& block = snapshot.blocks[index];
      if (block.state == BlockState::kFree || block.life != kNoLife) continue;
      bytes[static_cast<std::size_t>(names.of_block(index).role)] += block.requested_bytes;
    }
  }
  return bytes;
}

void find_largest(const Trace& trace, const Stretches& all, Timeline& timeline) {
  const std::size_t count = timeline.points.size();
  for (std::uint32_t i = 0; i < trace.lives.size(); ++i) {
    const Life& life = trace.lives[i];
    if (life.is_older || life.born < all.first_event) continue;
    const std::size_t step = all.step_of(life.born);
    TimelinePoint& point = timeline.points[std::min(step * count / all.step_count, count - 1)];
    const bool is_larger =
        point.largest_life == kNoLife || trace.lives[point.largest_life].bytes < life.bytes;
    if (is_larger) point.largest_life = i;
  }
}

}  // namespace

Timeline timeline_of(const Snapshot& snapshot, const Names& names, std::size_t max_points) {
  Timeline timeline;
  const Trace& trace = snapshot.trace;
  Stretches all{trace.first_event, trace.event_count - trace.first_event, 1, 0};
  if (all.event_count == 0 || max_points == 0) return timeline;
  all.step = static_cast<std::uint32_t>((all.event_count + kMaxSteps - 1) / kMaxSteps);
  all.step_count = (all.event_count + all.step - 1) / all.step;
  const std::size_t count = std::min(max_points, all.step_count);
  const std::vector<std::size_t> fullest = fullest_steps(trace, all, count);
  std::vector<RoleBytes> change(count + 1);
  change[0] = held_throughout(snapshot, names);
  for (std::size_t i = 0; i < trace.lives.size(); ++i) {
    add_life(all, fullest, trace.lives[i], static_cast<std::size_t>(names.of_life(i).role), change);
  }
  RoleBytes held{};
  std::int64_t max_bytes = -1;
  for (std::size_t i = 0; i < count; ++i) {
    std::int64_t total = 0;
    for (std::size_t role = 0; role < kRoleCount; ++role) total += held[role] += change[i][role];
    const auto event = all.first_event + static_cast<std::uint32_t>(fullest[i]) * all.step;
    timeline.points.push_back({event, held, kNoLife});
    if (total > max_bytes) timeline.peak = i;
    max_bytes = std::max(max_bytes, total);
  }
  find_largest(trace, all, timeline);
  return timeline;
}

}  // namespace snug::doctor::snapshot
