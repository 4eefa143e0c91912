#include "console/stop_signal.h"

#include <atomic>

namespace snug {
namespace {

// The first signal, or 0. A handler can reach nothing but a global, and it may run on any thread.
std::atomic<int> g_signal{0};
static_assert(std::atomic<int>::is_always_lock_free, "a handler must not wait for a lock");

void on_signal(int signal) {
  int none = 0;
  if (g_signal.compare_exchange_strong(none, signal) || signal == SIGHUP) return;
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

}  // namespace

StopSignal::StopSignal() {
  g_signal = 0;
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], nullptr, &previous_[i]);
    const bool ignored = (previous_[i].sa_flags & SA_SIGINFO) == 0 &&
                         previous_[i].sa_handler == SIG_IGN && kSignals[i] == SIGHUP;
    if (!ignored) sigaction(kSignals[i], &action, nullptr);
  }
}

StopSignal::~StopSignal() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &previous_[i], nullptr);
}

bool StopSignal::requested() const noexcept { return g_signal != 0; }

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

}  // namespace snug
