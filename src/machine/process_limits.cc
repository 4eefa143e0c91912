#include "machine/process_limits.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <limits>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"

namespace snug::machine {
namespace {

// VmSize; 0 where /proc does not tell. With stdio's buffer off: memory may be what is missing.
std::int64_t mapped_bytes() {
  long long pages = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    std::setvbuf(file, nullptr, _IONBF, 0);
    if (std::fscanf(file, "%lld", &pages) != 1) pages = 0;
    std::fclose(file);
  }
  return std::int64_t{pages} * ::sysconf(_SC_PAGESIZE);
}

// Holds threads until all are there.
class Gathering {
 public:
  Gathering() { pthread_mutex_lock(&mutex_); }
  ~Gathering() {
    pthread_mutex_unlock(&mutex_);
    for (const pthread_t thread : threads_) pthread_join(thread, nullptr);
    pthread_mutex_destroy(&mutex_);
  }
  Gathering(const Gathering&) = delete;
  Gathering& operator=(const Gathering&) = delete;

  // 0, or the reason why there is not one more.
  int add() {
    pthread_t thread{};
    const int error = pthread_create(&thread, nullptr, wait, &mutex_);
    if (error == 0) threads_.push_back(thread);
    return error;
  }

 private:
  static void* wait(void* mutex) {
    pthread_mutex_lock(static_cast<pthread_mutex_t*>(mutex));
    pthread_mutex_unlock(static_cast<pthread_mutex_t*>(mutex));
    return nullptr;
  }

  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  std::vector<pthread_t> threads_;
};

}  // namespace

void require_address_space(std::int64_t needed_bytes) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  const auto allowed = static_cast<std::int64_t>(
      std::min<rlim_t>(limit.rlim_cur, std::numeric_limits<std::int64_t>::max()));
  const std::int64_t left = std::max<std::int64_t>(allowed - mapped_bytes(), 0);
  if (left >= needed_bytes) return;
  throw CapacityError(
      fmt::format("the limit on address space (ulimit -v) is too low for the program itself\n"
                  "of {} it leaves {}, and {} are needed before the first tensor\n"
                  "raise it: ulimit -v unlimited",
                  format_bytes(allowed), format_bytes(left), format_bytes(needed_bytes)));
}

void require_threads(int count) {
  Gathering gathering;
  for (int started = 1; started < count; ++started) {
    const int error = gathering.add();
    if (error == 0) continue;
    throw DeviceError(fmt::format(
        "the system refuses to start thread {} of {}: {}\n"
        "limits that may be in the way: ulimit -u (processes), ulimit -v (address space), the "
        "container's\nuse fewer with --threads={}, or raise the limit",
        started + 1, count, std::strerror(error), started));
  }
}

}  // namespace snug::machine
