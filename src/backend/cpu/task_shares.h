// How threads share the tasks of an op: in contiguous shares, so that a thread finds in its cache
// what it wrote there in the op before; who has finished helps the others, since on a machine that
// also does other things threads are not equally fast. Who runs a task must not change its bits.
#pragma once

#include <omp.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

#include "backend/cpu/team_gauge.h"
#include "backend/cpu/threads.h"

namespace snug::cpu {

constexpr int kMaxThreads = 256;

// Threads of a parallel region.
inline int team_size() { return std::min(omp_get_max_threads(), kMaxThreads); }

struct Range {
  std::int64_t first, end;
  std::int64_t count() const { return end - first; }
};

// One of `parts` contiguous parts of [0, count), as equal as can be.
inline Range part_of(std::int64_t count, int part, int parts) {
  return {count * part / parts, count * (part + 1) / parts};
}

class TaskShares {
 public:
  // Parts of one group help each other; `parts` is a multiple of `group`.
  TaskShares(std::int64_t count, int parts, int group) : group_(group) {
    for (int p = 0; p < parts; ++p) {
      const Range part = part_of(count, p, parts);
      shares_[static_cast<std::size_t>(p)] = {part.first, part.end};
    }
  }

  // How many tasks it was.
  template <class Fn>
  std::int64_t work(int part, Fn&& fn) {
    std::int64_t count = 0;
    const int first = part / group_ * group_;
    for (int i = 0; i < group_; ++i) {
      Share& share = shares_[static_cast<std::size_t>(first + (part - first + i) % group_)];
      for (std::int64_t task = take(share); task < share.end; task = take(share), ++count) fn(task);
    }
    return count;
  }

 private:
  // Plain numbers: an array of atomics would be cleared whole for every op.
  struct alignas(64) Share {
    std::int64_t next, end;
  };
  static std::int64_t take(Share& share) {
    return std::atomic_ref(share.next).fetch_add(1, std::memory_order_relaxed);
  }

  int group_;
  std::array<Share, kMaxThreads> shares_;
};

// Whether share_tasks would now leave all to the calling thread.
inline bool works_alone() {
  return team_size() == 1 || TeamGauge::of_this_thread().prefers_alone(TeamGauge::Clock::now());
}

// fn(task) for tasks 0 to count - 1 on all threads; on the calling one alone where there is but one
// task, and as long as the others are of no help.
template <class Fn>
void share_tasks(std::int64_t count, Fn&& fn) {
  using Clock = TeamGauge::Clock;
  const int threads = team_size();
  TeamGauge& gauge = TeamGauge::of_this_thread();
  TeamGauge::Region region;
  region.task_count = count;
  region.start = Clock::now();
  if (count <= 1 || threads == 1 || gauge.prefers_alone(region.start)) {
    const ThreadCountScope alone(1);  // or a library's product would take the team after all
    for (std::int64_t task = 0; task < count; ++task) fn(task);
    return;
  }
  TaskShares shares(count, threads, threads);
#pragma omp parallel num_threads(threads)
  {
    const int part = omp_get_thread_num();
    const std::int64_t done = shares.work(part, fn);
    if (part == 0) region.own_count = done, region.own_end = Clock::now();
  }
  region.end = Clock::now();
  gauge.add(region);
}

}  // namespace snug::cpu
