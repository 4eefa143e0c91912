// SIGINT, SIGTERM and SIGHUP as a question that the training loop asks between steps.
#pragma once

#include <signal.h>

#include <array>

namespace snug::console {

// While one is alive, the first of these signals only sets requested() and says so at once; a
// second SIGINT or SIGTERM ends the process, unless it comes within a second of the first: a key
// held down or a script that sends two must not lose a save. A second SIGHUP does not: a terminal
// that closes may send two. A SIGHUP that was ignored before (nohup) stays ignored. The end of its
// life restores what was before. One at a time, on the main thread.
class StopSignal {
 public:
  // `answer` goes to standard error at the first signal; text that lives as long as the program.
  explicit StopSignal(const char* answer = "");
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  bool requested() const noexcept;
  const char* name() const noexcept;  // "SIGINT"; of the first one
  int exit_code() const noexcept;     // 128 + its number, as a shell tells it

 private:
  static constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP};
  std::array<struct sigaction, kSignals.size()> previous_{};
  stack_t previous_stack_{};
};

}  // namespace snug::console
