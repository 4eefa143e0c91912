// Shapes that a log prints: the strongest evidence there is.
#pragma once

#include <optional>

#include "doctor/diagnosis/candidate.h"
#include "doctor/diagnosis/evidence.h"

namespace snug {

struct ShapeMatch {
  Candidate candidate;
  bool is_of_config = false;  // the modelled run has such a tensor, which names the candidate
};

// The tensor whose shape the log prints. `memory` may be null. Nothing when no shape is printed
// that goes with the request.
std::optional<ShapeMatch> match_printed_shape(const FailureEvidence& evidence,
                                              const TorchMemory* memory);

}  // namespace snug
