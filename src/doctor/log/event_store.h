// Keeps a bounded number of the events of a log.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "doctor/log/summary.h"

namespace snug::doctor::log {

// Keeps the first and the last kKeptAtEachEnd events of each kind. A failing run of 8 ranks writes
// 8 of one kind; what lies between the first and the last of thousands is repetition.
class EventStore {
 public:
  static constexpr std::size_t kKeptAtEachEnd = 4;

  void add(LogEvent event);
  // Moves all into the summary, by line.
  void move_into(LogSummary& summary);

 private:
  struct Kept {
    std::vector<LogEvent> first;
    std::deque<LogEvent> last;
    std::int64_t count = 0;
  };
  std::array<Kept, kLogEventKindCount> kept_;
};

}  // namespace snug::doctor::log
