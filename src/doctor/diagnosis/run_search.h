// A traceback of nanoGPT without its config: which runs explain it? Common sizes of the model, the
// batch and the vocabulary are tried on the modelled run until request and allocated bytes both
// agree.
#pragma once

#include <vector>

#include "doctor/diagnosis/candidate.h"
#include "doctor/diagnosis/evidence.h"

namespace snug::doctor::diagnosis {

struct ExplainingRun {
  torch::TorchMemory memory;
  double weight = 0;    // what is missing from 1 together is that it was none of them
  double distance = 0;  // of what was allocated, relative
  int alike_count = 0;
  std::vector<Candidate> candidates;
};

// The traceback goes through train.py or model.py as nanoGPT has them.
bool shows_nanogpt(const log::LogEvent& event);

// Most likely first, at most six; empty where no common size comes near. Needs evidence.request and
// the allocated bytes. Some hundred runs are modelled: about a second.
std::vector<ExplainingRun> explaining_runs(const FailureEvidence& evidence);

// The candidates of all of them, most likely first.
std::vector<Candidate> candidates_of(const std::vector<ExplainingRun>& runs,
                                     const FailureEvidence& evidence);

}  // namespace snug::doctor::diagnosis
