// Guesses about a number without a config: which tensors of common models have such a size.
#pragma once

#include <vector>

#include "doctor/diagnosis/candidate.h"
#include "doctor/diagnosis/evidence.h"

namespace snug::doctor::diagnosis {

// Guesses about evidence.request, which must be there, most likely first, each at least 1%; their
// confidence sums to less than 1. One that goes with the line of the traceback is
// Evidence::kSizeAndFrame. Empty when no common model has such a tensor, or when nearly every one
// does (a few MiB).
std::vector<Candidate> guesses_of(const FailureEvidence& evidence);

}  // namespace snug::doctor::diagnosis
