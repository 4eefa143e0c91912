#include "doctor/diagnosis/guess_sizes.h"

#include <algorithm>
#include <bit>
#include <charconv>

#include "base/integers.h"
#include "doctor/diagnosis/common_models.h"

namespace snug::doctor::diagnosis {
namespace {

constexpr std::int64_t kMaxBatch = 1024;

std::int64_t whole_number(std::string_view text) {
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// Factors of a guess's weight. A size that the log mentions makes a guess with it likely and one
// without it unlikely.
double agreement(std::int64_t mentioned, std::int64_t size) {
  if (mentioned <= 0) return 1;
  return mentioned == size ? 8 : 0.2;
}

class SizeSearch {
 public:
  SizeSearch(const GuessClues& clues, const log::LogAmount& request)
      : clues_(clues), request_(request) {}

  std::vector<SizeGuess> run();

 private:
  struct Batches {
    CommonLength length;
    std::int64_t element_bytes;
  };

  void read_logits(const Batches& batches);
  void read_attention(const Batches& batches);
  void read_mlp(const Batches& batches);
  void read_weights(std::int64_t element_bytes);
  // Calls `add(batch)` for every batch with which `unit` bytes per sequence make the request.
  template <typename Add>
  void for_batches(std::int64_t unit, const Add& add_batch) const;
  void add(SizeGuess guess);
  double weight_of(const Batches& batches, std::int64_t batch, const CommonSize& size) const;
  // The part of the model that the traceback names makes its tensors likely and others unlikely.
  double hint_of(CommonTensor tensor) const {
    const TensorHint hint = clues_.moment.hint;
    if (hint == TensorHint::kNone) return 1;
    return goes_with(tensor, hint) ? 3 : 0.05;
  }
  double age_factor(bool is_old) const { return clues_.is_old && !is_old ? 0.2 : 1; }

  const GuessClues& clues_;
  log::LogAmount request_;
  std::vector<SizeGuess> found_;
};

void SizeSearch::add(SizeGuess guess) {
  guess.bytes = guess.element_bytes;
  for (const std::int64_t dim : guess.dims) guess.bytes *= std::max<std::int64_t>(dim, 1);
  if (!request_.covers(guess.bytes)) return;
  // What fills the request to the byte is seldom chance.
  if (guess.bytes == request_.high_bytes) guess.weight *= 1.5;
  // Half precision was rare then.
  if (guess.element_bytes == 2 && clues_.is_old) guess.weight *= 0.3;
  found_.push_back(guess);
}

template <typename Add>
void SizeSearch::for_batches(std::int64_t unit, const Add& add_batch) const {
  const std::int64_t first = std::max<std::int64_t>(1, ceil_div(request_.low_bytes, unit));
  const std::int64_t last = std::min(kMaxBatch, request_.high_bytes / unit);
  for (std::int64_t batch = first; batch <= last; ++batch) add_batch(batch);
}

double SizeSearch::weight_of(const Batches& batches, std::int64_t batch,
                             const CommonSize& size) const {
  const std::int64_t tokens = batches.length.tokens;
  const auto unit = static_cast<double>(request_.high_bytes / batch);
  const auto width = static_cast<double>(request_.high_bytes - request_.low_bytes + 1);
  // Where one more sequence changes little, some batch always matches.
  const bool is_power = std::has_single_bit(static_cast<std::uint64_t>(batch));
  const double surprise = is_power ? 1 : std::min(1.0, unit / (8 * width));
  const bool is_unusual = size.tokens != 0 && size.tokens != tokens;
  return size.prior * batches.length.prior * (is_unusual ? 0.4 : 1) * age_factor(size.is_old) *
         prior_of_batch(batch) * surprise * agreement(clues_.batch, batch) *
         agreement(clues_.length, tokens);
}

// Hugging Face drops the last position before the loss.
void SizeSearch::read_logits(const Batches& batches) {
  const std::int64_t length = batches.length.tokens, element_bytes = batches.element_bytes;
  // The loss makes its largest tensors, and makes them last, in float32.
  const double of_loss = !clues_.is_old && element_bytes == 2 ? 0.5 : 1;
  const double hint = hint_of(CommonTensor::kLogits) * of_loss;
  for (const CommonSize& v : common_vocabularies()) {
    const double vocabulary = agreement(clues_.vocabulary, v.size);
    for (const std::int64_t tokens : {length, length - 1}) {
      const double whole = tokens == length ? 1 : 0.4;
      for_batches(tokens * v.size * element_bytes, [&](std::int64_t batch) {
        const double weight = weight_of(batches, batch, v) * vocabulary * whole * hint;
        add({CommonTensor::kLogits, {batch, tokens, v.size}, element_bytes, 0, v.model, weight});
      });
    }
  }
}

void SizeSearch::read_attention(const Batches& batches) {
  const double without_flash = clues_.is_old ? 1.0 : 0.4;  // flash attention keeps no such tensor
  const double hint = hint_of(CommonTensor::kAttention);
  const std::int64_t tokens = batches.length.tokens, element_bytes = batches.element_bytes;
  for (const CommonSize& h : common_head_counts()) {
    const double heads = agreement(clues_.heads, h.size);
    for_batches(h.size * tokens * tokens * element_bytes, [&](std::int64_t batch) {
      const double weight = without_flash * weight_of(batches, batch, h) * heads * hint;
      add({CommonTensor::kAttention,
           {batch, h.size, tokens, tokens},
           element_bytes,
           0,
           h.model,
           weight});
    });
  }
}

void SizeSearch::read_mlp(const Batches& batches) {
  // Activations of newer runs are mostly autocast's.
  const double full = !clues_.is_old && batches.element_bytes == 4 ? 0.6 : 1;
  const double hint = hint_of(CommonTensor::kMlp);
  const std::int64_t tokens = batches.length.tokens, element_bytes = batches.element_bytes;
  for (const CommonSize& f : common_hidden_widths()) {
    for_batches(tokens * f.size * element_bytes, [&](std::int64_t batch) {
      const double weight = 0.5 * weight_of(batches, batch, f) * full * hint;
      add({CommonTensor::kMlp, {batch, tokens, f.size}, element_bytes, 0, f.model, weight});
    });
  }
}

void SizeSearch::read_weights(std::int64_t element_bytes) {
  const bool is_full = element_bytes == 4;
  const double hint = hint_of(CommonTensor::kEmbedding) * (is_full ? 1 : 0.3);
  for (const CommonModel& m : common_models()) {
    // The weights stand before anything else does.
    const bool is_too_big =
        clues_.allocated_bytes > 0 && clues_.allocated_bytes < m.vocabulary * m.width;
    const double weight = m.prior * hint * age_factor(m.is_old) * (is_too_big ? 0.05 : 1);
    add({CommonTensor::kEmbedding, {m.vocabulary, m.width}, element_bytes, 0, m.name, weight});
    // Quantised models are unpacked one matrix at a time.
    const double unpacked = weight * (is_full ? 0.6 : 3);
    add({CommonTensor::kMlpWeight, {m.hidden, m.width}, element_bytes, 0, m.name, unpacked});
  }
}

std::vector<SizeGuess> SizeSearch::run() {
  for (const std::int64_t element_bytes : {4, 2}) {
    for (const CommonLength& length : common_lengths()) {
      const Batches batches{length, element_bytes};
      read_logits(batches);
      read_attention(batches);
      read_mlp(batches);
    }
    read_weights(element_bytes);
  }
  return std::move(found_);
}

}  // namespace

GuessClues guess_clues(const FailureEvidence& evidence) {
  const log::LogEvent& event = evidence.event;
  const log::LogFacts& facts = evidence.log.facts;
  GuessClues result;
  for (const log::LogSetting& setting : facts.settings) {
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
  result.moment = evidence.moment;
  // PyTorch had no class for this exception yet.
  result.is_old =
      event.wording == log::LogWording::kCached ||
      (event.wording == log::LogWording::kReserved && event.exception == "RuntimeError");
  if (event.allocated) result.allocated_bytes = event.allocated->high_bytes;
  return result;
}

std::string_view half_dtype(const GuessClues& clues) {
  if (clues.dtype.find("bf") != std::string::npos) return "bfloat16";
  if (clues.dtype.find("16") != std::string::npos) return "float16";
  return clues.is_old ? "float16" : "bfloat16";
}

double prior_of_batch(std::int64_t batch) {
  if (std::has_single_bit(static_cast<std::uint64_t>(batch))) return batch <= 64 ? 1 : 0.3;
  if (batch == 12) return 0.6;  // nanoGPT's
  if (batch > 64) return 0.01;
  if (batch % 2 == 0) return 0.3;
  return batch <= 10 ? 0.25 : 0.05;
}

bool goes_with(CommonTensor tensor, TensorHint hint) noexcept {
  switch (tensor) {
    case CommonTensor::kLogits:
      return hint == TensorHint::kLoss || hint == TensorHint::kLogits ||
             hint == TensorHint::kSoftmax;
    case CommonTensor::kAttention:
      return hint == TensorHint::kAttention || hint == TensorHint::kSoftmax;
    case CommonTensor::kMlp:
      return hint == TensorHint::kMlp;
    case CommonTensor::kEmbedding:
    case CommonTensor::kMlpWeight:
      return hint == TensorHint::kOptimizer || hint == TensorHint::kWeights ||
             hint == TensorHint::kEmbedding;
  }
  return false;
}

std::vector<SizeGuess> size_guesses(const GuessClues& clues, const log::LogAmount& request) {
  return SizeSearch(clues, request).run();
}

}  // namespace snug::doctor::diagnosis
