// Evidence: what a log tells of the failure that ended its run, worked out once. All that concludes
// from a log (candidates, cause, notes) takes it from here.
#pragma once

#include <optional>

#include "doctor/diagnosis/account.h"
#include "doctor/diagnosis/moment.h"
#include "doctor/log/summary.h"

namespace snug::doctor::diagnosis {

struct FailureEvidence {
  const log::LogSummary& log;
  const log::LogEvent& event;  // of `log`, the one that ended the run
  // The bytes that the program asked for: request_range(), made narrower by the allocator's
  // byte-exact warnings about the same request. Nothing: the message has no amount.
  std::optional<log::LogAmount> request;
  LogMoment moment;
  CardAccount account;
};

// The first out-of-memory with amounts; else one without, or a kernel's assertion, from which
// follows what libraries and the driver say; else the host's; else what is not about memory. Errors
// that follow from another one (broken sizes, aborts of other ranks) come late, a warning later
// still. Null when the log has no event.
const log::LogEvent* decisive_event(const log::LogSummary& log);

// `event` is one of `log`, which must outlive the result. `card` may be null.
FailureEvidence evidence_of(const log::LogSummary& log, const log::LogEvent& event,
                            const fit::Card* card);

}  // namespace snug::doctor::diagnosis
