#include "doctor/diagnosis_readings.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>

#include "base/bytes.h"
#include "doctor/diagnosis_models.h"

namespace snug {
namespace {

// Below this every model has tensors of any size.
constexpr std::int64_t kLeastBytes = 20 * kMiB;
constexpr double kAllReadings = 0.8;
// Weight of what is not in the tables; GPT-2's logits with a round batch have 1.
constexpr double kSomethingElse = 0.3;
constexpr std::size_t kMaxReadings = 8;
constexpr std::int64_t kMaxBatch = 1024;

// Sizes that the log itself mentions; 0: not.
struct Mentioned {
  std::int64_t batch = 0, length = 0, vocabulary = 0, heads = 0;
  std::string dtype;
};

std::int64_t whole_number(std::string_view text) {
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

Mentioned mentioned_in(const LogFacts& facts) {
  Mentioned result;
  for (const LogSetting& setting : facts.settings) {
    const std::string_view key = setting.key;
    const std::int64_t value = whole_number(setting.value);
    if (key.ends_with("batch_size") || key.ends_with("batch-size")) result.batch = value;
    if (key == "block_size" || key == "n_ctx" || key.starts_with("max_seq") || key == "seq_len") {
      result.length = value;
    }
    if (key == "vocab_size") result.vocabulary = value;
    if (key == "n_head" || key == "num_attention_heads") result.heads = value;
    if (key == "dtype") result.dtype = setting.value;
  }
  if (facts.vocab_size) result.vocabulary = *facts.vocab_size;
  return result;
}

// A size that the log mentions makes a reading with it likely and one without it unlikely.
double agreement(std::int64_t mentioned, std::int64_t size) {
  if (mentioned <= 0) return 1;
  return mentioned == size ? 8 : 0.2;
}

double prior_of_batch(std::int64_t batch) {
  if (std::has_single_bit(static_cast<std::uint64_t>(batch))) return batch <= 64 ? 1 : 0.3;
  if (batch == 12) return 0.6;  // nanoGPT's
  if (batch % 2 == 0 && batch <= 64) return 0.3;
  return batch <= 10 ? 0.25 : 0.05;
}

class Reader {
 public:
  Reader(const LogReading& log, const LogEvent& event, const LogAmount& request)
      : request_(request),
        moment_(moment_of(log, event)),
        mentioned_(mentioned_in(log.facts)),
        is_old_(event.wording == LogWording::kCached ||
                (event.wording == LogWording::kReserved && event.exception == "RuntimeError")),
        allocated_bytes_(event.allocated ? event.allocated->high_bytes : 0) {}

  std::vector<Candidate> read();

 private:
  struct Batches {
    CommonLength length;
    std::int64_t element_bytes;
  };
  struct Found {
    Candidate candidate;  // its confidence is a weight
    std::string_view model;
    int split_count = 1;  // (batch, tokens) that have the same product
  };

  void read_logits(const Batches& batches);
  void read_attention(const Batches& batches);
  void read_mlp(const Batches& batches);
  void read_weights(std::int64_t element_bytes);
  // Calls `add(batch)` for every batch with which `unit` bytes per sequence make the request.
  template <typename Add>
  void for_batches(std::int64_t unit, const Add& add);
  void add(Found found, std::int64_t element_bytes, double weight);
  void merge_splits();
  std::string_view half_dtype() const;
  double weight_of(const Batches& batches, std::int64_t batch, const CommonSize& size) const;
  double hinted(std::initializer_list<TensorHint> hints) const;
  std::string named(std::string_view tensor) const;

  LogAmount request_;
  LogMoment moment_;
  Mentioned mentioned_;
  bool is_old_;
  std::int64_t allocated_bytes_;  // 0: not known
  std::vector<Found> found_;
};

double Reader::hinted(std::initializer_list<TensorHint> hints) const {
  if (moment_.hint == TensorHint::kNone) return 1;
  return std::find(hints.begin(), hints.end(), moment_.hint) != hints.end() ? 3 : 0.05;
}

std::string Reader::named(std::string_view tensor) const {
  const bool is_backward = moment_.only_phase() == TorchPhase::kBackward;
  return is_backward ? fmt::format("gradient of {}", tensor) : std::string(tensor);
}

std::string_view Reader::half_dtype() const {
  const std::string& dtype = mentioned_.dtype;
  if (dtype.find("bf") != std::string::npos) return "bfloat16";
  if (dtype.find("16") != std::string::npos) return "float16";
  return is_old_ ? "float16" : "bfloat16";
}

void Reader::add(Found found, std::int64_t element_bytes, double weight) {
  Candidate& candidate = found.candidate;
  candidate.bytes = element_bytes;
  for (const std::int64_t dim : candidate.shape) candidate.bytes *= dim;
  if (!request_.covers(candidate.bytes)) return;
  // What fills the request to the byte is seldom chance.
  if (candidate.bytes == request_.high_bytes) weight *= 1.5;
  // Half precision was rare when PyTorch had no class for this exception.
  if (element_bytes == 2 && is_old_) weight *= 0.3;
  candidate.dtype = element_bytes == 4 ? "float32" : half_dtype();
  candidate.phase = moment_.only_phase();
  candidate.evidence = Evidence::kReading;
  candidate.confidence = weight;
  found_.push_back(std::move(found));
}

// (B, T, V) and (2B, T/2, V) are one number of tokens: one reading, the likeliest split first.
void Reader::merge_splits() {
  constexpr int kMaxSplits = 3;
  const auto is_same = [](const Candidate& a, const Candidate& b) {
    if (a.tensor != b.tensor || a.bytes != b.bytes || a.dtype != b.dtype) return false;
    if (a.shape == b.shape) return true;
    return a.shape.size() == 3 && b.shape.size() == 3 && a.shape[2] == b.shape[2];
  };
  std::vector<Found> merged;
  for (Found& found : found_) {
    const Candidate& candidate = found.candidate;
    const auto same = std::find_if(merged.begin(), merged.end(), [&](const Found& other) {
      return is_same(other.candidate, candidate);
    });
    if (same == merged.end()) {
      merged.push_back(std::move(found));
      continue;
    }
    same->candidate.confidence += candidate.confidence / 2;
    if (same->candidate.shape == candidate.shape || same->split_count++ >= kMaxSplits) continue;
    same->candidate.reading +=
        fmt::format(", batch {} × {} tokens", candidate.shape[0], candidate.shape[1]);
  }
  found_ = std::move(merged);
}

template <typename Add>
void Reader::for_batches(std::int64_t unit, const Add& add_batch) {
  const std::int64_t first = std::max<std::int64_t>(1, (request_.low_bytes + unit - 1) / unit);
  const std::int64_t last = std::min(kMaxBatch, request_.high_bytes / unit);
  for (std::int64_t batch = first; batch <= last; ++batch) add_batch(batch);
}

double Reader::weight_of(const Batches& batches, std::int64_t batch, const CommonSize& size) const {
  const std::int64_t tokens = batches.length.tokens;
  const auto unit = static_cast<double>(request_.high_bytes / batch);
  const auto width = static_cast<double>(request_.high_bytes - request_.low_bytes + 1);
  // Where one more sequence changes little, some batch always matches.
  const bool is_power = std::has_single_bit(static_cast<std::uint64_t>(batch));
  const double surprise = is_power ? 1 : std::min(1.0, unit / (8 * width));
  const bool is_unusual = size.tokens != 0 && size.tokens != tokens;
  const double era = is_old_ && !size.is_old ? 0.2 : 1;
  return size.prior * batches.length.prior * (is_unusual ? 0.4 : 1) * era * prior_of_batch(batch) *
         surprise * agreement(mentioned_.batch, batch) * agreement(mentioned_.length, tokens);
}

// Hugging Face drops the last position before the loss.
void Reader::read_logits(const Batches& batches) {
  const double hint = hinted({TensorHint::kLoss, TensorHint::kLogits, TensorHint::kSoftmax});
  const std::int64_t length = batches.length.tokens;
  for (const CommonSize& v : common_vocabularies()) {
    const double vocabulary = agreement(mentioned_.vocabulary, v.size);
    for (const std::int64_t tokens : {length, length - 1}) {
      const double whole = tokens == length ? 1 : 0.4;
      for_batches(tokens * v.size * batches.element_bytes, [&](std::int64_t batch) {
        Found found{{}, v.model};
        found.candidate.tensor = named("logits");
        found.candidate.shape = {batch, tokens, v.size};
        found.candidate.reading =
            fmt::format("batch {} × {} tokens × vocabulary {}", batch, tokens, v.size);
        add(std::move(found), batches.element_bytes,
            weight_of(batches, batch, v) * vocabulary * whole * hint);
      });
    }
  }
}

void Reader::read_attention(const Batches& batches) {
  const double era = is_old_ ? 1.0 : 0.4;  // flash attention keeps no such tensor
  const double hint = hinted({TensorHint::kAttention, TensorHint::kSoftmax});
  const std::int64_t tokens = batches.length.tokens;
  for (const CommonSize& h : common_head_counts()) {
    for_batches(h.size * tokens * tokens * batches.element_bytes, [&](std::int64_t batch) {
      Found found{{}, h.model};
      found.candidate.tensor = named("attention scores");
      found.candidate.shape = {batch, h.size, tokens, tokens};
      found.candidate.reading =
          fmt::format("batch {} × {} heads × {} tokens × {} tokens", batch, h.size, tokens, tokens);
      add(std::move(found), batches.element_bytes,
          era * weight_of(batches, batch, h) * agreement(mentioned_.heads, h.size) * hint);
    });
  }
}

void Reader::read_mlp(const Batches& batches) {
  // Activations of newer runs are mostly autocast's.
  const double full = !is_old_ && batches.element_bytes == 4 ? 0.6 : 1;
  const double hint = hinted({TensorHint::kMlp});
  const std::int64_t tokens = batches.length.tokens;
  for (const CommonSize& f : common_hidden_widths()) {
    for_batches(tokens * f.size * batches.element_bytes, [&](std::int64_t batch) {
      Found found{{}, f.model};
      found.candidate.tensor = named("MLP hidden activation");
      found.candidate.shape = {batch, tokens, f.size};
      found.candidate.reading =
          fmt::format("batch {} × {} tokens × width {}", batch, tokens, f.size);
      add(std::move(found), batches.element_bytes,
          0.5 * weight_of(batches, batch, f) * full * hint);
    });
  }
}

// A weight's size is also that of its gradient, of AdamW's moments and of a copy.
void Reader::read_weights(std::int64_t element_bytes) {
  const bool is_full = element_bytes == 4;
  const double hint =
      hinted({TensorHint::kOptimizer, TensorHint::kWeights, TensorHint::kEmbedding}) *
      (is_full ? 1 : 0.3);
  const std::string_view kind =
      is_full ? "weight, gradient or AdamW state" : "half-precision weight or copy";
  for (const CommonModel& m : common_models()) {
    // The weights stand before anything else does.
    const bool is_too_big = allocated_bytes_ > 0 && allocated_bytes_ < m.vocabulary * m.width;
    const double era = is_old_ && !m.is_old ? 0.2 : 1;
    const double weight = m.prior * hint * era * (is_too_big ? 0.05 : 1);
    Found table{{}, m.name};
    table.candidate.tensor = fmt::format("token embedding ({})", kind);
    table.candidate.shape = {m.vocabulary, m.width};
    table.candidate.reading = fmt::format("vocabulary {} × width {}", m.vocabulary, m.width);
    add(std::move(table), element_bytes, weight);
    // Quantised models are unpacked one matrix at a time.
    Found matrix{{}, m.name};
    matrix.candidate.tensor = fmt::format("MLP weight ({})", kind);
    matrix.candidate.shape = {m.hidden, m.width};
    matrix.candidate.reading = fmt::format("width {} × width {}", m.hidden, m.width);
    add(std::move(matrix), element_bytes, weight * (is_full ? 0.6 : 3));
  }
}

std::vector<Candidate> Reader::read() {
  for (const std::int64_t element_bytes : {4, 2}) {
    for (const CommonLength& length : common_lengths()) {
      const Batches batches{length, element_bytes};
      read_logits(batches);
      read_attention(batches);
      read_mlp(batches);
    }
    read_weights(element_bytes);
  }
  const auto by_weight = [](const Found& a, const Found& b) {
    return a.candidate.confidence > b.candidate.confidence;
  };
  std::stable_sort(found_.begin(), found_.end(), by_weight);
  merge_splits();
  std::stable_sort(found_.begin(), found_.end(), by_weight);
  double total = kSomethingElse;
  for (const Found& found : found_) total += found.candidate.confidence;
  std::vector<Candidate> result;
  for (Found& found : found_) {
    if (result.size() == kMaxReadings) break;
    found.candidate.confidence *= kAllReadings / total;
    found.candidate.reading += fmt::format(", {}", found.model);
    result.push_back(std::move(found.candidate));
  }
  return result;
}

}  // namespace

std::vector<Candidate> readings_of(const LogReading& log, const LogEvent& event,
                                   const LogAmount& request) {
  if (request.high_bytes <= kLeastBytes) return {};
  return Reader(log, event, request).read();
}

}  // namespace snug
