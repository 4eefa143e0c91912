// How many threads the CPU backend works with. Asking changes nothing: OpenMP's own count is set by
// ThreadCountScope alone, around what is described or run for a known number of threads.
#pragma once

#include <cstdint>

namespace snug::cpu {

// All cores that this process may run on, or `wanted` if positive, but no more than kMaxThreads or
// OpenMP's limit.
int thread_count(std::int64_t wanted);

// OpenMP's thread count for what the calling thread starts during this object's life.
class ThreadCountScope {
 public:
  explicit ThreadCountScope(int count);
  ~ThreadCountScope();
  ThreadCountScope(const ThreadCountScope&) = delete;
  ThreadCountScope& operator=(const ThreadCountScope&) = delete;

 private:
  int count_before_, dynamic_before_;
};

}  // namespace snug::cpu
