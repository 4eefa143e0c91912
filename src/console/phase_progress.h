// The line of a long piece of work that goes through so many bytes in one or more phases:
// "encoding  37%  1,234,567 tokens  52.3 MB/s  ETA 12m".
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace snug::console {

struct PhaseFacts {
  std::string phase;
  std::int64_t done_bytes = 0;
  std::int64_t total_bytes = -1;  // -1: not known, and then there is no share and no ETA
  std::int64_t tokens = 0;        // 0: not shown
};

class PhaseProgress {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // Of all facts, also where no text is wanted: a phase begins with its first. What was done before
  // that, by an earlier run, does not count as speed.
  void see(const PhaseFacts& facts, Time now);
  std::string text(const PhaseFacts& facts, Time now) const;

 private:
  std::string phase_;
  Time start_;
  std::int64_t start_bytes_ = 0;
};

}  // namespace snug::console
