#include "doctor/diagnosis/guesses.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "base/bytes.h"
#include "doctor/diagnosis/guess_sizes.h"

namespace snug {
namespace {

// Below this every model has tensors of any size.
constexpr std::int64_t kLeastBytes = 20 * kMiB;
constexpr double kAllReadings = 0.8;
// Weight of what is not in the tables.
constexpr double kSomethingElse = 0.3;
constexpr std::size_t kMaxReadings = 8;

// In so wide a range every model has tensors, unless the allocator's own rounding makes it.
bool is_wide(const LogAmount& request) {
  constexpr std::int64_t kRoundBytes = 2 * kMiB;
  const std::int64_t width = request.high_bytes - request.low_bytes;
  return width > kRoundBytes && width > request.high_bytes / 20;
}

bool has_batch_and_tokens(CommonTensor tensor) {
  return tensor == CommonTensor::kLogits || tensor == CommonTensor::kMlp;
}

// (B, T, V) and (2B, T/2, V) are one number of tokens: one reading, the likeliest split first.
struct Merged {
  SizeReading reading;  // its weight is that of all
  std::vector<SizeReading> other_splits;
};

bool is_heavier(const SizeReading& a, const SizeReading& b) { return a.weight > b.weight; }

// `readings` are sorted by weight.
std::vector<Merged> merge_splits(const std::vector<SizeReading>& readings) {
  constexpr std::size_t kMaxOtherSplits = 2;
  using Key = std::tuple<CommonTensor, std::int64_t, std::int64_t, std::array<std::int64_t, 4>>;
  std::map<Key, std::size_t> places;
  std::vector<Merged> merged;
  for (const SizeReading& reading : readings) {
    std::array<std::int64_t, 4> dims = reading.dims;
    if (has_batch_and_tokens(reading.tensor)) dims[0] = dims[1] = 0;
    const auto [place, is_new] = places.try_emplace(
        Key{reading.tensor, reading.element_bytes, reading.bytes, dims}, merged.size());
    if (is_new) {
      merged.push_back({reading, {}});
      continue;
    }
    Merged& same = merged[place->second];
    same.reading.weight += reading.weight / 2;
    const bool is_split = same.reading.dims != reading.dims;
    if (is_split && same.other_splits.size() < kMaxOtherSplits) {
      same.other_splits.push_back(reading);
    }
  }
  std::stable_sort(merged.begin(), merged.end(), [](const Merged& a, const Merged& b) {
    return is_heavier(a.reading, b.reading);
  });
  return merged;
}

// A weight's size is also that of its gradient, of AdamW's moments and of a copy.
std::string tensor_name(const SizeReading& reading, const LogMoment& moment) {
  const std::string_view kind = reading.element_bytes == 4 ? "weight, gradient or AdamW state"
                                                           : "half-precision weight or copy";
  const std::string_view head =
      moment.only_phase() == TorchPhase::kBackward ? "gradient of " : std::string_view();
  switch (reading.tensor) {
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

Candidate candidate_of(const Merged& merged, const ReadingEvidence& evidence) {
  const SizeReading& reading = merged.reading;
  Candidate candidate;
  candidate.tensor = candidate.label = tensor_name(reading, evidence.moment);
  candidate.shape.assign(reading.dims.begin(),
                         std::find(reading.dims.begin(), reading.dims.end(), 0));
  candidate.dtype = reading.element_bytes == 4 ? "float32" : half_dtype(evidence);
  candidate.bytes = reading.bytes;
  candidate.phase = evidence.moment.only_phase();
  candidate.evidence = Evidence::kReading;
  candidate.reading = TensorReading{reading.tensor, {}, reading.model};
  for (const SizeReading& split : merged.other_splits) {
    candidate.reading->other_splits.push_back({split.dims[0], split.dims[1]});
  }
  return candidate;
}

// Shares of the readings in one, after what the traceback says of them.
struct Shares {
  double of_frame = 0;   // factor of those that go with its line
  double of_others = 0;  // and of the rest
};

// The size alone may be anything: where it leaves all readings unlikely, the line decides.
Shares shares_of(const std::vector<Merged>& merged, TensorHint hint) {
  constexpr double kWeak = 0.25, kByFrame = 0.6;
  double total = kSomethingElse, frame = 0;
  for (const Merged& m : merged) {
    total += m.reading.weight;
    if (hint != TensorHint::kNone && goes_with(m.reading.tensor, hint)) frame += m.reading.weight;
  }
  const double plain = kAllReadings / total;
  const bool is_weak = merged.empty() || merged.front().reading.weight * plain < kWeak;
  if (frame <= 0 || !is_weak || frame * plain >= kByFrame) return {plain, plain};
  return {kByFrame / frame, (1 - kByFrame) * plain};
}

}  // namespace

std::vector<Candidate> readings_of(const LogReading& log, const LogEvent& event,
                                   const LogAmount& request) {
  constexpr double kNegligible = 0.01;
  if (request.high_bytes <= kLeastBytes || is_wide(request)) return {};
  const ReadingEvidence evidence = reading_evidence(log, event);
  const TensorHint hint = evidence.moment.hint;
  std::vector<SizeReading> readings = size_readings(evidence, request);
  std::stable_sort(readings.begin(), readings.end(), is_heavier);
  const std::vector<Merged> merged = merge_splits(readings);
  const Shares shares = shares_of(merged, hint);
  std::vector<Candidate> result;
  for (const Merged& m : merged) {
    const bool is_of_frame = hint != TensorHint::kNone && goes_with(m.reading.tensor, hint);
    const double confidence = m.reading.weight * (is_of_frame ? shares.of_frame : shares.of_others);
    if (confidence < kNegligible) continue;
    result.push_back(candidate_of(m, evidence));
    result.back().confidence = confidence;
    if (is_of_frame) result.back().evidence = Evidence::kSizeAndFrame;
  }
  std::stable_sort(result.begin(), result.end(), [](const Candidate& a, const Candidate& b) {
    return a.confidence > b.confidence;
  });
  if (result.size() > kMaxReadings) result.resize(kMaxReadings);
  return result;
}

}  // namespace snug
