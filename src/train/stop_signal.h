// SIGINT and SIGTERM as a question that the training loop asks between steps.
#pragma once

namespace snug {

// While one is alive, the first SIGINT or SIGTERM only sets stop_requested(); a second one ends the
// process at once. One at a time.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  bool requested() const noexcept;
  const char* name() const noexcept;  // "SIGINT"
};

}  // namespace snug
