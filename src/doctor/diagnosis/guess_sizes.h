// Tensors of common models that have a given size, each with a weight.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "doctor/diagnosis/common_models.h"
#include "doctor/diagnosis/evidence.h"

namespace snug::doctor::diagnosis {

// What a log tells about which sizes are likely.
struct GuessClues {
  // Sizes that the log itself mentions; 0: not.
  std::int64_t batch = 0, length = 0, vocabulary = 0, heads = 0;
  std::string dtype;
  LogMoment moment;
  bool is_old = false;               // before 2023
  std::int64_t allocated_bytes = 0;  // when it failed; 0: not known
};

GuessClues guess_clues(const FailureEvidence& evidence);

// The name of a half-precision type: the one that the log mentions, else the usual of its time.
std::string_view half_dtype(const GuessClues& clues);

// How usual a batch is: 1 for a power of two.
double prior_of_batch(std::int64_t batch);

// The traceback's hint can be about such a tensor.
bool goes_with(CommonTensor tensor, TensorHint hint) noexcept;

struct SizeGuess {
  CommonTensor tensor = CommonTensor::kLogits;
  std::array<std::int64_t, 4> dims{};  // 0 after the last
  std::int64_t element_bytes = 0;      // 4, or 2 for half precision
  std::int64_t bytes = 0;
  std::string_view model;
  double weight = 0;  // 1 for GPT-2's logits with a round batch
};

// In no order. At most a few ten thousand where `request` is no wider than a twentieth of itself.
std::vector<SizeGuess> size_guesses(const GuessClues& clues, const log::LogAmount& request);

}  // namespace snug::doctor::diagnosis
