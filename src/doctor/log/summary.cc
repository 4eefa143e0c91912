#include "doctor/log/summary.h"

#include <algorithm>

#include "base/bytes.h"

namespace snug::doctor::log {

LogMemory memory_of(LogEventKind kind) noexcept {
  if (kind == LogEventKind::kUnspecifiedOutOfMemory) return LogMemory::kUnknown;
  if (kind < LogEventKind::kUnspecifiedOutOfMemory) return LogMemory::kCard;
  if (kind <= LogEventKind::kExit137) return LogMemory::kHost;
  return LogMemory::kNeither;
}

namespace {

// c10's allocator: up to 1 MiB from 2 MiB segments, below 10 MiB from 20 MiB segments, more in
// multiples of 2 MiB; its predecessor in 1.0 and 1.1 in multiples of 128 KiB.
constexpr std::int64_t kSmallSegmentBytes = 2 * kMiB, kLargeSegmentBytes = 20 * kMiB;
constexpr std::int64_t kRoundBytes = 2 * kMiB, kOldRoundBytes = 128 * kKiB;

bool is_rounded(const LogEvent& event) {
  switch (event.kind) {
    case LogEventKind::kCudaOutOfMemory:
    case LogEventKind::kHipOutOfMemory:
    case LogEventKind::kXpuOutOfMemory:
    case LogEventKind::kVendorOutOfMemory:
    case LogEventKind::kVllmCache:
      return event.wording != LogWording::kMallocAsync;
    case LogEventKind::kAllocatorWarning:
      return true;
    default:
      return false;
  }
}

// What rounds up to a multiple of `round` that prints so; nothing when no multiple does.
std::optional<LogAmount> before_rounding(const LogAmount& printed, std::int64_t round) {
  const std::int64_t first_multiple = std::max(align_up(printed.low_bytes, round), round);
  const std::int64_t last_multiple = printed.high_bytes / round * round;
  if (first_multiple > last_multiple) return std::nullopt;
  return LogAmount{first_multiple - round + 1, last_multiple};
}

}  // namespace

std::optional<LogAmount> request_range(const LogEvent& event) {
  if (!event.request || !is_rounded(event)) return event.request;
  const LogAmount& printed = *event.request;
  if (printed.covers(kSmallSegmentBytes)) return LogAmount{1, kMiB};
  // Requests over 18 MiB print so too: one range has to hold both.
  if (printed.covers(kLargeSegmentBytes)) return LogAmount{kMiB + 1, kLargeSegmentBytes};
  // 1.2 and 1.3 have the old wording and the new rounding.
  std::optional<LogAmount> range = before_rounding(printed, kRoundBytes);
  const bool is_old = event.wording == LogWording::kCached;
  if (!range && is_old) range = before_rounding(printed, kOldRoundBytes);
  // Printed by an allocator that rounds otherwise: as it stands.
  return range ? range : event.request;
}

std::optional<LogAmount> unallocated_range(const LogEvent& event) {
  if (event.unallocated) return event.unallocated;
  if (!event.reserved || !event.allocated) return std::nullopt;
  const std::int64_t low = event.reserved->low_bytes - event.allocated->high_bytes;
  const std::int64_t high = event.reserved->high_bytes - event.allocated->low_bytes;
  return LogAmount{std::max<std::int64_t>(low, 0), std::max<std::int64_t>(high, 0)};
}

}  // namespace snug::doctor::log
