// The tensors that a failed request may have been for: by a shape in the log, by the modelled run,
// by common models, by the traceback.
#pragma once

#include <optional>
#include <vector>

#include "doctor/diagnosis/candidate.h"
#include "doctor/diagnosis/evidence.h"

namespace snug::doctor::diagnosis {

constexpr std::size_t kMaxCandidates = 8;

struct FoundCandidates {
  std::vector<Candidate> candidates;  // most likely first, at most kMaxCandidates
  int alike_count = 0;                // tensors of the modelled run that have the size
  bool shape_differs = false;         // the log prints a shape that the given run does not have
  // The run that goes with the message best, where it is another than the one given.
  std::optional<torch::TorchMemory> matched;
};

// `memory` is null without a config.
FoundCandidates find_candidates(const FailureEvidence& evidence, const torch::TorchMemory* memory);

}  // namespace snug::doctor::diagnosis
