// Whether the other threads help at all. Beside other programs a parallel region ends when its last
// thread has had a core, which may be long after one thread alone would have done all its tasks.
// Only the tasks' owner changes by this, never their bits (see task_shares.h).
#pragma once

#include <chrono>
#include <cstdint>

namespace snug::cpu {

class TeamGauge {
 public:
  using Clock = std::chrono::steady_clock;
  using Duration = Clock::duration;

  // So much time in regions is judged as one; a wrong judgement costs no more than that.
  static const Duration kWindow;
  // How long the caller then works alone: twice as long after each window that was lost, half as
  // long after one that was not.
  static const Duration kShortestAlone, kLongestAlone;

  // Of the thread that starts regions.
  static TeamGauge& of_this_thread();

  // A region as its first thread saw it: how many of its tasks were its own, when it was done with
  // these, and when with the wait for the others.
  struct Region {
    std::int64_t task_count = 0, own_count = 0;
    Clock::time_point start{}, own_end{}, end{};
  };
  void add(const Region& region);

  // Until a moment after `end` of the last region that was added.
  bool prefers_alone(Clock::time_point now) const { return now < alone_until_; }

 private:
  Duration together_{}, alone_{};  // of the window: as it was, and as one thread would have been
  Duration next_alone_{};
  Clock::time_point alone_until_{};
};

}  // namespace snug::cpu
