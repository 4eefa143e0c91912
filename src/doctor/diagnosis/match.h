// Which tensor of the modelled run is the one that an out-of-memory message is about.
#pragma once

#include <optional>
#include <vector>

#include "doctor/diagnosis/candidate.h"
#include "doctor/diagnosis/evidence.h"

namespace snug::doctor::diagnosis {

struct TensorMatch {
  std::vector<Candidate> candidates;  // most likely first
  // The run that fits best, where it is another than the one given: the log left it open.
  std::optional<torch::TorchMemory> memory;
  int alike_count = 0;  // rows of this size, also those that are not among the candidates
};

// Every tensor of the size of evidence.request, which must be there, is a row; what was allocated
// before it, the traceback and the run's own lines decide between rows. Where the log does not tell
// PyTorch's version, attention or compilation, each is tried.
TensorMatch match_tensors(const FailureEvidence& evidence, const torch::TorchMemory& memory);

// How well one run goes with the message.
struct RunMatch {
  double score = 0;     // 0 to 1; 0: it has no tensor of that size
  double distance = 1;  // of what was allocated before the best row, relative
  int micro_step = 0;   // of the best row
  int alike_count = 0;
  std::vector<Candidate> candidates;
};
RunMatch match_run(const FailureEvidence& evidence, const torch::TorchMemory& memory);

// A tensor of the modelled run, without a word on how likely it is.
Candidate candidate_of(const torch::TorchMemory& memory, const torch::TorchTensor& tensor);

// The tensor that makes the peak.
std::optional<Candidate> peak_candidate(const torch::TorchMemory& memory,
                                        const torch::TorchPeak& peak);

}  // namespace snug::doctor::diagnosis
