#include "doctor/diagnosis/candidate_search.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "doctor/diagnosis/guesses.h"
#include "doctor/diagnosis/match.h"
#include "doctor/diagnosis/plausibility.h"

namespace snug::doctor::diagnosis {
namespace {

// The failing tensor's own shape, or another printed one that has the bytes of the request.
const log::LogShape* telling_shape(const FailureEvidence& evidence) {
  if (evidence.event.shape) return &*evidence.event.shape;
  const std::optional<log::LogAmount>& request = evidence.request;
  if (!request) return nullptr;
  const auto& shapes = evidence.log.facts.shapes;
  const auto found = std::find_if(shapes.rbegin(), shapes.rend(), [&](const log::LogShape& shape) {
    const std::optional<std::int64_t> bytes = log::byte_count_of(shape);
    return bytes && request->covers(*bytes);
  });
  return found == shapes.rend() ? nullptr : &*found;
}

// The same elements in another view, (B*T, V) for (B, T, V), are the same tensor.
bool is_view_of(const log::LogShape& shape, const torch::TorchTensor& tensor) {
  if (!shape.dtype.empty() && shape.dtype != torch::name_of(tensor.dtype)) return false;
  std::int64_t elements = 1;
  for (const std::int64_t dim : shape.dims) {
    if (dim < 0 || __builtin_mul_overflow(elements, dim, &elements)) return false;
  }
  if (elements != tensor.shape.element_count() || shape.dims.empty()) return false;
  return tensor.shape.rank() == 0 || tensor.shape[tensor.shape.rank() - 1] == shape.dims.back();
}

// About what this process held, of whatever the message tells.
std::optional<std::int64_t> held_bytes(const log::LogEvent& event) {
  if (event.allocated) return log::middle(*event.allocated);
  if (event.process_in_use) return log::middle(*event.process_in_use);
  if (event.capacity && event.free) return log::middle(*event.capacity) - log::middle(*event.free);
  return std::nullopt;
}

// How near a tensor's moment is to what was held: only moments that are far apart are told apart.
double nearness(const std::optional<std::int64_t>& held, const torch::TorchTensor& tensor) {
  constexpr double kScale = 0.2;
  if (!held || *held <= 0) return 1;
  const double distance =
      static_cast<double>(tensor.allocated_before_bytes - *held) / static_cast<double>(*held);
  return 1 / (1 + distance / kScale * distance / kScale);
}

// Returns the first that is made of equally likely ones; null: none has such a shape.
const torch::TorchTensor* tensor_like(const log::LogShape& shape, const FailureEvidence& evidence,
                                      const torch::TorchMemory& memory) {
  const std::optional<std::int64_t> held = held_bytes(evidence.event);
  const torch::TorchTensor* best = nullptr;
  double best_score = 0;
  for (const torch::TorchTensor& tensor : memory.tensors) {
    if (!is_view_of(shape, tensor)) continue;
    const double score = plausibility(evidence.moment, tensor) * nearness(held, tensor);
    if (best != nullptr && score <= best_score) continue;
    best = &tensor;
    best_score = score;
  }
  return best;
}

// Without a config: a last dimension that only a vocabulary has, a square that only attention has.
std::string name_by_shape(const log::LogShape& shape, const LogMoment& moment) {
  constexpr std::int64_t kMinVocabulary = 20000;
  const std::size_t rank = shape.dims.size();
  const bool is_backward = moment.only_phase() == torch::TorchPhase::kBackward;
  if (rank >= 2 && shape.dims[rank - 1] >= kMinVocabulary) {
    return is_backward ? "gradient of logits" : "logits-sized buffer";
  }
  if (rank >= 3 && shape.dims[rank - 1] == shape.dims[rank - 2]) {
    return is_backward ? "gradient of attention scores" : "attention scores";
  }
  return "buffer";
}

struct ShapeMatch {
  Candidate candidate;
  bool is_of_config = false;  // the modelled run has such a tensor, which names the candidate
};

// The tensor whose shape the log prints: the strongest evidence there is. `memory` may be null.
// Nothing when no shape is printed that goes with the request.
std::optional<ShapeMatch> match_printed_shape(const FailureEvidence& evidence,
                                              const torch::TorchMemory* memory) {
  const log::LogShape* const shape = telling_shape(evidence);
  if (shape == nullptr) return std::nullopt;
  ShapeMatch match;
  Candidate& candidate = match.candidate;
  candidate.shape = shape->dims;
  candidate.dtype = shape->dtype;
  candidate.bytes = log::byte_count_of(*shape).value_or(0);
  candidate.phase = evidence.moment.only_phase();
  candidate.evidence = Evidence::kShapeInLog;
  candidate.confidence = evidence.event.shape ? 0.99 : 0.9;
  candidate.tensor = candidate.label = name_by_shape(*shape, evidence.moment);
  if (memory == nullptr) return match;
  if (const torch::TorchTensor* const tensor = tensor_like(*shape, evidence, *memory)) {
    match.is_of_config = true;
    candidate.tensor = torch::torch_tensor_name(*memory, *tensor);
    candidate.label = tensor->what;
    candidate.owner = torch::torch_tensor_owner(*memory, *tensor);
    candidate.op = tensor->op;
    if (!candidate.phase) candidate.phase = tensor->phase;
  }
  return match;
}

void drop_negligible(std::vector<Candidate>& candidates) {
  std::erase_if(candidates, [](const Candidate& c) { return c.confidence < 0.01; });
}

std::string_view label_of(TensorHint hint) {
  switch (hint) {
    case TensorHint::kNone:
      break;
    case TensorHint::kLoss:
      return "vocabulary-wide tensor of cross_entropy";
    case TensorHint::kLogits:
      return "logits";
    case TensorHint::kSoftmax:
      return "output of softmax";
    case TensorHint::kAttention:
      return "attention scores or probabilities";
    case TensorHint::kMlp:
      return "MLP activation";
    case TensorHint::kEmbedding:
      return "embedding";
    case TensorHint::kOptimizer:
      return "AdamW state";
    case TensorHint::kWeights:
      return "weight";
  }
  return "";
}

// The traceback names the operator where no size goes with any tensor.
void add_frame_candidate(const FailureEvidence& evidence, std::vector<Candidate>& candidates) {
  const LogMoment& moment = evidence.moment;
  if (moment.hint == TensorHint::kNone) return;
  Candidate candidate;
  candidate.tensor = candidate.label = label_of(moment.hint);
  candidate.bytes = evidence.request->high_bytes;
  candidate.phase = moment.only_phase();
  candidate.evidence = Evidence::kSizeAndFrame;
  candidate.confidence = 0.6;
  for (Candidate& other : candidates) other.confidence *= 0.4;
  drop_negligible(candidates);
  candidates.insert(candidates.begin(), std::move(candidate));
}

// "20.00 MiB" stands for 1 to 10 MiB: a product asks for cuBLAS's workspace, 8 MiB and a little.
void add_workspace_candidate(const FailureEvidence& evidence, std::vector<Candidate>& candidates) {
  constexpr std::int64_t kWorkspaceBytes = 8519680, kLargeSegmentBytes = 20 * kMiB;
  const TensorHint hint = evidence.moment.hint;
  const bool is_of_product = hint == TensorHint::kNone || hint == TensorHint::kMlp ||
                             hint == TensorHint::kAttention || hint == TensorHint::kLogits;
  if (evidence.request->high_bytes != kLargeSegmentBytes || !is_of_product ||
      !evidence.moment.tells())
    return;
  if (!evidence.request->covers(kWorkspaceBytes)) return;
  Candidate candidate;
  candidate.tensor = candidate.label = "cuBLAS workspace";
  candidate.shape = {kWorkspaceBytes};
  candidate.dtype = "uint8";
  candidate.bytes = kWorkspaceBytes;
  candidate.phase = evidence.moment.only_phase();
  candidate.evidence = Evidence::kSizeOnly;
  candidate.confidence = 0.3;
  candidates.push_back(std::move(candidate));
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
  add_workspace_candidate(evidence, found);
  return found;
}

FoundCandidates find_by_size(const FailureEvidence& evidence, const torch::TorchMemory* memory) {
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

FoundCandidates find_candidates(const FailureEvidence& evidence, const torch::TorchMemory* memory) {
  FoundCandidates found;
  if (auto match = match_printed_shape(evidence, memory)) {
    found.shape_differs = memory != nullptr && !match->is_of_config;
    found.candidates.push_back(std::move(match->candidate));
  } else if (evidence.request && log::memory_of(evidence.event.kind) == log::LogMemory::kCard) {
    found = find_by_size(evidence, memory);
  }
  if (found.candidates.size() > kMaxCandidates) found.candidates.resize(kMaxCandidates);
  return found;
}

}  // namespace snug::doctor::diagnosis
