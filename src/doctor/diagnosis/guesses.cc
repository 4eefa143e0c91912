#include "doctor/diagnosis/guesses.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "base/bytes.h"
#include "doctor/diagnosis/guess_sizes.h"

namespace snug::doctor::diagnosis {
namespace {

// Below this every model has tensors of any size.
constexpr std::int64_t kMinBytes = 20 * kMiB;
constexpr double kAllGuesses = 0.8;
// Weight of what is not in the tables.
constexpr double kSomethingElse = 0.3;
constexpr std::size_t kMaxGuesses = 8;

// In so wide a range every model has tensors, unless the allocator's own rounding makes it.
bool is_wide(const log::LogAmount& request) {
  constexpr std::int64_t kRoundBytes = 2 * kMiB;
  const std::int64_t width = request.high_bytes - request.low_bytes;
  return width > kRoundBytes && width > request.high_bytes / 20;
}

bool has_batch_and_tokens(CommonTensor tensor) {
  return tensor == CommonTensor::kLogits || tensor == CommonTensor::kMlp;
}

// (B, T, V) and (2B, T/2, V) are one number of tokens: one guess, the likeliest split first.
struct Merged {
  SizeGuess guess;  // its weight is that of all
  std::vector<SizeGuess> other_splits;
};

bool is_heavier(const SizeGuess& a, const SizeGuess& b) { return a.weight > b.weight; }

// `guesses` are sorted by weight.
std::vector<Merged> merge_splits(const std::vector<SizeGuess>& guesses) {
  constexpr std::size_t kMaxOtherSplits = 2;
  using Key = std::tuple<CommonTensor, std::int64_t, std::int64_t, std::array<std::int64_t, 4>>;
  std::map<Key, std::size_t> indices;  // in `merged`
  std::vector<Merged> merged;
  for (const SizeGuess& guess : guesses) {
    std::array<std::int64_t, 4> dims = guess.dims;
    if (has_batch_and_tokens(guess.tensor)) dims[0] = dims[1] = 0;
    const auto [index, is_new] = indices.try_emplace(
        Key{guess.tensor, guess.element_bytes, guess.bytes, dims}, merged.size());
    if (is_new) {
      merged.push_back({guess, {}});
      continue;
    }
    Merged& same = merged[index->second];
    same.guess.weight += guess.weight / 2;
    const bool is_split = same.guess.dims != guess.dims;
    if (is_split && same.other_splits.size() < kMaxOtherSplits) {
      same.other_splits.push_back(guess);
    }
  }
  std::stable_sort(merged.begin(), merged.end(),
                   [](const Merged& a, const Merged& b) { return is_heavier(a.guess, b.guess); });
  return merged;
}

// A weight's size is also that of its gradient, of AdamW's moments and of a copy.
std::string tensor_name(const SizeGuess& guess, const LogMoment& moment) {
  const std::string_view kind = guess.element_bytes == 4 ? "weight, gradient or AdamW state"
                                                         : "half-precision weight or copy";
  const std::string_view head =
      moment.only_phase() == torch::TorchPhase::kBackward ? "gradient of " : std::string_view();
  switch (guess.tensor) {
    case CommonTensor::kLogits:
      return fmt::format("{}logits", head);
    case CommonTensor::kAttention:
      return fmt::format("{}attention scores", head);
    case CommonTensor::kMlp:
      return fmt::format("{}MLP hidden activation", head);
    case CommonTensor::kEmbedding:
      return fmt::format("token embedding ({})", kind);
    case CommonTensor::kMlpWeight:
      return fmt::format("MLP weight ({})", kind);
  }
  return {};
}

Candidate candidate_for(const Merged& merged, const GuessClues& clues) {
  const SizeGuess& guess = merged.guess;
  Candidate candidate;
  candidate.tensor = candidate.label = tensor_name(guess, clues.moment);
  candidate.shape.assign(guess.dims.begin(), std::find(guess.dims.begin(), guess.dims.end(), 0));
  candidate.dtype = guess.element_bytes == 4 ? "float32" : half_dtype(clues);
  candidate.bytes = guess.bytes;
  candidate.phase = clues.moment.only_phase();
  candidate.evidence = Evidence::kGuess;
  candidate.guess = TensorGuess{guess.tensor, {}, guess.model};
  for (const SizeGuess& split : merged.other_splits) {
    candidate.guess->other_splits.push_back({split.dims[0], split.dims[1]});
  }
  return candidate;
}

// Shares of the guesses in one, after what the traceback says of them.
struct Shares {
  double of_frame = 0;   // factor of those that go with its line
  double of_others = 0;  // and of the rest
};

// The size alone may be anything: where it leaves all guesses unlikely, the line decides.
Shares shares_of(const std::vector<Merged>& merged, TensorHint hint) {
  constexpr double kWeak = 0.25, kByFrame = 0.6;
  double total = kSomethingElse, frame = 0;
  for (const Merged& m : merged) {
    total += m.guess.weight;
    if (hint != TensorHint::kNone && goes_with(m.guess.tensor, hint)) frame += m.guess.weight;
  }
  const double plain = kAllGuesses / total;
  const bool is_weak = merged.empty() || merged.front().guess.weight * plain < kWeak;
  if (frame <= 0 || !is_weak || frame * plain >= kByFrame) return {plain, plain};
  return {kByFrame / frame, (1 - kByFrame) * plain};
}

}  // namespace

std::vector<Candidate> guesses_of(const FailureEvidence& evidence) {
  const log::LogAmount& request = *evidence.request;
  constexpr double kNegligible = 0.01;
  if (request.high_bytes <= kMinBytes || is_wide(request)) return {};
  const GuessClues clues = guess_clues(evidence);
  const TensorHint hint = clues.moment.hint;
  std::vector<SizeGuess> guesses = size_guesses(clues, request);
  std::stable_sort(guesses.begin(), guesses.end(), is_heavier);
  const std::vector<Merged> merged = merge_splits(guesses);
  const Shares shares = shares_of(merged, hint);
  std::vector<Candidate> result;
  for (const Merged& m : merged) {
    const bool is_of_frame = hint != TensorHint::kNone && goes_with(m.guess.tensor, hint);
    const double confidence = m.guess.weight * (is_of_frame ? shares.of_frame : shares.of_others);
    if (confidence < kNegligible) continue;
    result.push_back(candidate_for(m, clues));
    result.back().confidence = confidence;
    if (is_of_frame) result.back().evidence = Evidence::kSizeAndFrame;
  }
  std::stable_sort(result.begin(), result.end(), [](const Candidate& a, const Candidate& b) {
    return a.confidence > b.confidence;
  });
  if (result.size() > kMaxGuesses) result.resize(kMaxGuesses);
  return result;
}

}  // namespace snug::doctor::diagnosis
