// How threads share the tasks of an op: in contiguous shares, so that a thread finds in its cache
// what it wrote there in the op before; who has finished helps the others, since on a machine that
// also does other things threads are not equally fast. Who runs a task must not change its bits.
#pragma once

#include <omp.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

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

  template <class Fn>
  void work(int part, Fn&& fn) {
    const int first = part / group_ * group_;
    for (int i = 0; i < group_; ++i) {
      Share& share = shares_[static_cast<std::size_t>(first + (part - first + i) % group_)];
      for (std::int64_t task = take(share); task < share.end; task = take(share)) fn(task);
    }
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

// fn(task) for tasks 0 to count - 1 on all threads.
template <class Fn>
void share_tasks(std::int64_t count, Fn&& fn) {
  const int threads = team_size();
  TaskShares shares(count, threads, threads);
#pragma omp parallel num_threads(threads)
  shares.work(omp_get_thread_num(), fn);
}

}  // namespace snug::cpu
