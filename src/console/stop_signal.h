// SIGINT, SIGTERM and SIGHUP as a question that the training loop asks between steps.
#pragma once

#include <signal.h>

#include <array>

namespace snug {

// While one is alive, the first of these signals only sets requested(); a second SIGINT or SIGTERM
// ends the process at once. A second SIGHUP does not: a terminal that closes may send two. A SIGHUP
// that was ignored before (nohup) stays ignored. The end of its life restores what was before. One
// at a time.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  bool requested() const noexcept;
  const char* name() const noexcept;  // "SIGINT"; of the first one

 private:
  static constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP};
  std::array<struct sigaction, kSignals.size()> previous_{};
};

}  // namespace snug
