// Runs of nanoGPT that have a tensor of a request's size, from common sizes: which of them explains
// a message is for run_search to try.
#pragma once

#include <vector>

#include "doctor/diagnosis/evidence.h"
#include "doctor/torch/run.h"

namespace snug::doctor::diagnosis {

struct RunHypothesis {
  torch::TorchRun run;
  double prior = 0;  // 1 for GPT-2's own sizes with a round batch
};

// Needs evidence.request and the allocated bytes, which refute most at once.
std::vector<RunHypothesis> run_hypotheses(const FailureEvidence& evidence);

// Runs that differ from the given one in a single thing, each with a tensor of the request's size:
// in the batch; in the model's sizes where those came from a checkpoint; else in length or
// vocabulary.
std::vector<RunHypothesis> neighbours_of(const torch::TorchRun& given,
                                         const FailureEvidence& evidence);

// The same run with what a log of that kind leaves open changed, one at a time.
std::vector<RunHypothesis> variants_of(const RunHypothesis& hypothesis,
                                       const FailureEvidence& evidence);

}  // namespace snug::doctor::diagnosis
