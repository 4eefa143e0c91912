#include "console/stop_signal.h"

#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace snug::console {
namespace {

// The first signal, or 0. A handler can reach nothing but a global, and it may run on any thread.
std::atomic<int> g_signal{0};
static_assert(std::atomic<int>::is_always_lock_free, "a handler must not wait for a lock");

std::atomic<const char*> g_answer{""};
std::atomic<std::int64_t> g_first_milliseconds{0};
constexpr std::int64_t kPairMilliseconds = 1000;

// oneDNN's generated code for AVX2 (2.6.3) keeps numbers below its stack pointer, beyond the 128
// bytes that belong to it: a handler's frame there overwrote them, and the heap after them. So the
// frame goes elsewhere. Linux gives a process's signals to the main thread, which has this stack;
// only a second one of another kind that comes before the first was seen may go to another thread.
alignas(16) std::array<std::byte, 64 << 10> g_handler_stack;

std::int64_t now_milliseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1000000;
}

// Only what POSIX allows in a handler: write, clock_gettime, signal, raise.
void on_signal(int signal) {
  int none = 0;
  if (g_signal.compare_exchange_strong(none, signal)) {
    const int error = errno;
    g_first_milliseconds = now_milliseconds();
    const char* answer = g_answer;
    [[maybe_unused]] const ssize_t told = ::write(STDERR_FILENO, answer, std::strlen(answer));
    errno = error;
    return;
  }
  if (signal == SIGHUP || now_milliseconds() - g_first_milliseconds < kPairMilliseconds) return;
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

}  // namespace

StopSignal::StopSignal(const char* answer) {
  g_signal = 0;
  g_answer = answer;
  stack_t stack{};
  stack.ss_sp = g_handler_stack.data();
  stack.ss_size = g_handler_stack.size();
  sigaltstack(&stack, &previous_stack_);
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART | SA_ONSTACK;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], nullptr, &previous_[i]);
    const bool ignored = (previous_[i].sa_flags & SA_SIGINFO) == 0 &&
                         previous_[i].sa_handler == SIG_IGN && kSignals[i] == SIGHUP;
    if (!ignored) sigaction(kSignals[i], &action, nullptr);
  }
}

StopSignal::~StopSignal() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &previous_[i], nullptr);
  sigaltstack(&previous_stack_, nullptr);
}

bool StopSignal::requested() const noexcept { return g_signal != 0; }

int StopSignal::exit_code() const noexcept { return 128 + g_signal; }

const char* StopSignal::name() const noexcept {
  switch (g_signal) {
    case SIGTERM:
      return "SIGTERM";
    case SIGHUP:
      return "SIGHUP";
    default:
      return "SIGINT";
  }
}

}  // namespace snug::console
