// A tensor in words: its name, its shape as batch, tokens, vocabulary..., and how sure that is.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/bytes.h"
#include "report/columns.h"
#include "report/doctor/content.h"
#include "report/numbers.h"

namespace snug::report {
namespace {

// What the diagnosis gives no label stays as it is.
std::string tensor_name(Language language, const doctor::diagnosis::Candidate& candidate) {
  const bool has_parts = !candidate.label.empty() || !candidate.owner.empty();
  return has_parts ? describe_tensor(language, candidate.label, candidate.owner) : candidate.tensor;
}

// What each dimension of the tensor is.
std::vector<TextId> dimensions_of(doctor::diagnosis::CommonTensor tensor) {
  switch (tensor) {
    case doctor::diagnosis::CommonTensor::kLogits:
      return {TextId::kReadBatch, TextId::kReadTokens, TextId::kReadVocabulary};
    case doctor::diagnosis::CommonTensor::kAttention:
      return {TextId::kReadBatch, TextId::kReadHeads, TextId::kReadTokens, TextId::kReadTokens};
    case doctor::diagnosis::CommonTensor::kMlp:
      return {TextId::kReadBatch, TextId::kReadTokens, TextId::kReadWidth};
    case doctor::diagnosis::CommonTensor::kEmbedding:
      return {TextId::kReadVocabulary, TextId::kReadWidth};
    case doctor::diagnosis::CommonTensor::kMlpWeight:
      return {TextId::kReadWidth, TextId::kReadWidth};
  }
  return {};
}

// "batch 32 × 1024 tokens × vocabulary 50304, batch 64 × 512 tokens, GPT-2"
std::string guess_text(Language language, const doctor::diagnosis::Candidate& candidate) {
  const auto said = [&](TextId dimension, std::int64_t size) {
    return text_in(language, dimension, {std::to_string(size)});
  };
  const doctor::diagnosis::TensorGuess& guess = *candidate.guess;
  const std::vector<TextId> words = dimensions_of(guess.tensor);
  std::vector<std::string> dimensions;
  for (std::size_t i = 0; i < std::min(words.size(), candidate.shape.size()); ++i) {
    dimensions.push_back(said(words[i], candidate.shape[i]));
  }
  std::vector<std::string> parts = {fmt::format("{}", fmt::join(dimensions, " × "))};
  for (const doctor::diagnosis::TensorGuess::Split& split : guess.other_splits) {
    parts.push_back(fmt::format("{} × {}", said(TextId::kReadBatch, split.batch),
                                said(TextId::kReadTokens, split.tokens)));
  }
  if (!guess.model.empty()) parts.emplace_back(guess.model);
  return listed(language, parts);
}

bool is_evaluation(const doctor::diagnosis::Candidate& candidate) {
  return candidate.phase == doctor::torch::TorchPhase::kEvaluateFirst ||
         candidate.phase == doctor::torch::TorchPhase::kEvaluateLater;
}

// The sizes that a dimension can be read as.
struct Sizes {
  std::int64_t batch, tokens, vocabulary, width, heads;
};

Sizes sizes_of(const doctor::torch::TorchRun& run, bool evaluation) {
  return {evaluation ? run.eval_batch_size : run.batch_size,
          evaluation ? run.eval_block_size : run.block_size, run.vocab_size, run.n_embd,
          run.n_head};
}

std::optional<std::string> inner_dimension(Language language, const Sizes& s, std::int64_t size) {
  const auto sized = [&](TextId id) { return text_in(language, id, {std::to_string(size)}); };
  if (size == s.vocabulary) return sized(TextId::kReadVocabulary);
  if (size == s.width) return sized(TextId::kReadWidth);
  for (const std::int64_t times : {3, 4}) {
    if (size == times * s.width) {
      return text_in(language, TextId::kReadTiedCopies,
                     {std::to_string(times), std::to_string(s.width)});
    }
  }
  if (size == s.tokens) return sized(TextId::kReadTokens);
  if (size == s.heads) return sized(TextId::kReadHeads);
  if (s.heads > 0 && size * s.heads == s.width) return sized(TextId::kReadHeadSize);
  return std::nullopt;
}

std::optional<std::string> outer_dimension(Language language, const Sizes& s, std::int64_t size) {
  const std::string batch = text_in(language, TextId::kReadBatch, {std::to_string(s.batch)});
  if (size == s.batch * s.tokens) {
    const std::string tokens = text_in(language, TextId::kReadTokens, {std::to_string(s.tokens)});
    return fmt::format("{} × {}", batch, tokens);
  }
  if (size == s.batch) return batch;
  return inner_dimension(language, s, size);
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  if (shape.size() == 1) return fmt::format("({},)", shape[0]);
  return fmt::format("({})", fmt::join(shape, ", "));
}

}  // namespace

std::string candidate_line(Language language, const doctor::diagnosis::Candidate& candidate) {
  std::string text = clean(tensor_name(language, candidate));
  if (!candidate.shape.empty()) text += fmt::format(", {}", shape_text(candidate.shape));
  if (!candidate.dtype.empty()) text += fmt::format(" {}", clean(candidate.dtype));
  if (candidate.bytes > 0) text += fmt::format(", {}", bytes_in(language, candidate.bytes));
  return text;
}

std::string shape_in_words(const DoctorReport& report,
                           const doctor::diagnosis::Candidate& candidate) {
  const Language language = report.language;
  if (candidate.guess) return guess_text(language, candidate);
  if (report.memory == nullptr || candidate.shape.size() < 2) return "";
  const Sizes sizes = sizes_of(report.memory->run, is_evaluation(candidate));
  std::string text;
  for (std::size_t i = 0; i < candidate.shape.size(); ++i) {
    const auto read = i == 0 ? outer_dimension(language, sizes, candidate.shape[i])
                             : inner_dimension(language, sizes, candidate.shape[i]);
    if (!read) return "";
    text += fmt::format("{}{}", i == 0 ? "" : " × ", *read);
  }
  return text;
}

std::string candidate_confidence(Language language, const doctor::diagnosis::Candidate& candidate) {
  constexpr TextId kEvidence[] = {TextId::kByShape, TextId::kBySizeAndAllocated,
                                  TextId::kBySizeAndFrame, TextId::kBySize, TextId::kByReading};
  const double p = candidate.confidence;
  const TextId certainty = p >= 0.95  ? TextId::kCertain
                           : p >= 0.8 ? TextId::kVeryLikely
                           : p >= 0.5 ? TextId::kLikely
                           : p >= 0.1 ? TextId::kPossible
                                      : TextId::kUnlikely;
  return text_in(language, TextId::kConfidence,
                 {text_in(language, certainty), percent_in(language, std::floor(p * 100 + 0.5)),
                  text_in(language, kEvidence[static_cast<std::size_t>(candidate.evidence)])});
}

}  // namespace snug::report
