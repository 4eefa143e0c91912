#include "console/phase_progress.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "console/console.h"

namespace snug::console {

void PhaseProgress::see(const PhaseFacts& facts, Time now) {
  if (facts.phase == phase_) return;
  phase_ = facts.phase;
  start_ = now;
  start_bytes_ = facts.done_bytes;
}

std::string PhaseProgress::text(const PhaseFacts& facts, Time now) const {
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const double rate =
      static_cast<double>(facts.done_bytes - start_bytes_) / std::max(seconds, 1e-3);
  std::string text = facts.phase;
  if (facts.total_bytes > 0) {
    text += fmt::format("  {:3.0f}%", 100.0 * static_cast<double>(facts.done_bytes) /
                                          static_cast<double>(facts.total_bytes));
  }
  if (facts.tokens > 0) text += fmt::format("  {} tokens", with_thousands(facts.tokens));
  text += fmt::format("  {:.1f} MB/s", rate / 1e6);
  if (facts.total_bytes > 0 && rate > 0) {
    const auto left_bytes = static_cast<double>(facts.total_bytes - facts.done_bytes);
    text += fmt::format("  ETA {}", format_duration(left_bytes / rate));
  }
  return text;
}

}  // namespace snug::console
