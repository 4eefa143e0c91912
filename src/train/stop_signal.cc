#include "train/stop_signal.h"

#include <csignal>

namespace snug {
namespace {

// A handler can reach nothing but a global.
volatile std::sig_atomic_t g_signal = 0;

void on_signal(int signal) {
  if (g_signal != 0) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
  g_signal = signal;
}

void set_handlers(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

}  // namespace

StopSignal::StopSignal() {
  g_signal = 0;
  set_handlers(on_signal);
}

StopSignal::~StopSignal() { set_handlers(SIG_DFL); }

bool StopSignal::requested() const noexcept { return g_signal != 0; }

const char* StopSignal::name() const noexcept { return g_signal == SIGTERM ? "SIGTERM" : "SIGINT"; }

}  // namespace snug
