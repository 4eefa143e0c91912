#include "doctor/diagnosis/candidate_search.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "doctor/diagnosis/guesses.h"
#include "doctor/diagnosis/match.h"
#include "doctor/diagnosis/printed_shape.h"

namespace snug {
namespace {

constexpr std::size_t kMaxCandidates = 8;

void drop_negligible(std::vector<Candidate>& candidates) {
  std::erase_if(candidates, [](const Candidate& c) { return c.confidence < 0.01; });
}

// The traceback names the operator where no size goes with any tensor.
void add_frame_candidate(const FailureEvidence& evidence, std::vector<Candidate>& candidates) {
  const LogMoment& moment = evidence.moment;
  if (moment.hint == TensorHint::kNone) return;
  constexpr std::string_view kNames[] = {"",
                                         "vocabulary-wide tensor of cross_entropy",
                                         "logits",
                                         "output of softmax",
                                         "attention scores or probabilities",
                                         "MLP activation",
                                         "embedding",
                                         "AdamW state",
                                         "weight"};
  Candidate candidate;
  candidate.tensor = candidate.label = kNames[static_cast<std::size_t>(moment.hint)];
  candidate.bytes = evidence.request->high_bytes;
  candidate.phase = moment.only_phase();
  candidate.evidence = Evidence::kSizeAndFrame;
  candidate.confidence = 0.6;
  for (Candidate& other : candidates) other.confidence *= 0.4;
  drop_negligible(candidates);
  candidates.insert(candidates.begin(), std::move(candidate));
}

// What the size and the traceback tell. A config that has no tensor of this size is another run's,
// or the number is of something else.
std::vector<Candidate> guess_candidates(const FailureEvidence& evidence, bool has_config) {
  std::vector<Candidate> found = guesses_of(evidence);
  if (has_config) {
    for (Candidate& candidate : found) candidate.confidence *= 0.5;
    drop_negligible(found);
  }
  const bool is_weak = found.empty() || found[0].confidence < 0.25;
  const bool has_frame = std::any_of(found.begin(), found.end(), [](const Candidate& candidate) {
    return candidate.evidence == Evidence::kSizeAndFrame;
  });
  if (is_weak && !has_frame) add_frame_candidate(evidence, found);
  return found;
}

FoundCandidates find_by_size(const FailureEvidence& evidence, const TorchMemory* memory) {
  FoundCandidates found;
  if (memory != nullptr) {
    TensorMatch match = match_tensors(evidence, *memory);
    found.candidates = std::move(match.candidates);
    found.alike_count = match.alike_count;
    found.matched = std::move(match.memory);
  }
  if (found.candidates.empty()) found.candidates = guess_candidates(evidence, memory != nullptr);
  return found;
}

}  // namespace

FoundCandidates find_candidates(const FailureEvidence& evidence, const TorchMemory* memory) {
  FoundCandidates found;
  if (auto match = match_printed_shape(evidence, memory)) {
    found.shape_differs = memory != nullptr && !match->is_of_config;
    found.candidates.push_back(std::move(match->candidate));
  } else if (evidence.request && memory_of(evidence.event.kind) == LogMemory::kCard) {
    found = find_by_size(evidence, memory);
  }
  if (found.candidates.size() > kMaxCandidates) found.candidates.resize(kMaxCandidates);
  return found;
}

}  // namespace snug
