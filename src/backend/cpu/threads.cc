#include "backend/cpu/threads.h"

#include <omp.h>

#include <algorithm>

#include "backend/cpu/task_shares.h"

namespace snug::cpu {

int thread_count(std::int64_t wanted) {
  const std::int64_t asked = wanted > 0 ? wanted : omp_get_num_procs();
  return static_cast<int>(std::min<std::int64_t>({asked, kMaxThreads, omp_get_thread_limit()}));
}

ThreadCountScope::ThreadCountScope(int count)
    : count_before_(omp_get_max_threads()), dynamic_before_(omp_get_dynamic()) {
  omp_set_dynamic(0);  // or fewer threads could come than scratch was booked for
  omp_set_num_threads(count);
}

ThreadCountScope::~ThreadCountScope() {
  omp_set_num_threads(count_before_);
  omp_set_dynamic(dynamic_before_);
}

}  // namespace snug::cpu
