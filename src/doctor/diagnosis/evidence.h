// Of all that a log reports, the one event that ended the run.
#pragma once

#include <cstdint>
#include <optional>

#include "doctor/log/summary.h"

namespace snug {

// The first out-of-memory with amounts; else one without, or a kernel's assertion, from which
// follows what libraries and the driver say; else the host's; else what is not about memory. Errors
// that follow from another one (broken sizes, aborts of other ranks) come late, a warning later
// still. Null when the log has no event.
const LogEvent* decisive_event(const LogSummary& log);

// The bytes that the program asked for: request_range(), made narrower by the allocator's
// byte-exact warnings about the same request.
std::optional<LogAmount> sharpened_request(const LogSummary& log, const LogEvent& event);

// Middle of a printed amount: what was printed.
inline std::int64_t middle(const LogAmount& amount) {
  return amount.low_bytes + (amount.high_bytes - amount.low_bytes) / 2;
}
inline std::optional<std::int64_t> middle(const std::optional<LogAmount>& amount) {
  return amount ? std::optional(middle(*amount)) : std::nullopt;
}

}  // namespace snug
