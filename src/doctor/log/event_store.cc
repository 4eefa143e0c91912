#include "doctor/log/event_store.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace snug::doctor::log {

void EventStore::add(LogEvent event) {
  Kept& kept = kept_[static_cast<std::size_t>(event.kind)];
  ++kept.count;
  if (kept.first.size() < kKeptAtEachEnd) {
    kept.first.push_back(std::move(event));
    return;
  }
  kept.last.push_back(std::move(event));
  if (kept.last.size() > kKeptAtEachEnd) kept.last.pop_front();
}

void EventStore::move_into(LogSummary& summary) {
  for (std::size_t kind = 0; kind < kLogEventKindCount; ++kind) {
    Kept& kept = kept_[kind];
    summary.event_counts[kind] = kept.count;
    std::move(kept.first.begin(), kept.first.end(), std::back_inserter(summary.events));
    std::move(kept.last.begin(), kept.last.end(), std::back_inserter(summary.events));
  }
  std::stable_sort(summary.events.begin(), summary.events.end(),
                   [](const LogEvent& a, const LogEvent& b) { return a.line < b.line; });
}

}  // namespace snug::doctor::log
