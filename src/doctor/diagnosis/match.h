// Which tensor of the modelled run is the one that an out-of-memory message is about.
#pragma once

#include <optional>
#include <vector>

#include "doctor/diagnosis/diagnosis.h"
#include "doctor/diagnosis/moment.h"

namespace snug {

struct MatchResult {
  std::vector<Candidate> candidates;  // most likely first
  // The run that fits best, where it is another than the one given: the log left it open.
  std::optional<TorchMemory> memory;
  int alike_count = 0;  // rows of this size, also those that are not among the candidates
};

// `request` are the bytes behind the message. Every tensor of that size is a row; what was
// allocated before it, the traceback and the run's own lines decide between rows. Where the log
// does not tell PyTorch's version, attention or compilation, each is tried.
MatchResult match_tensors(const LogSummary& log, const LogEvent& event, const LogAmount& request,
                          const TorchMemory& memory);

// The tensor whose shape the log prints: named by `memory` if it has one like it (may be null).
// Nothing when no shape is printed that goes with the request.
std::optional<Candidate> shape_candidate(const LogSummary& log, const LogEvent& event,
                                         const TorchMemory* memory, bool& is_of_config);

// The tensor that makes the peak.
std::optional<Candidate> peak_candidate(const TorchMemory& memory, const TorchPeak& peak);

}  // namespace snug
