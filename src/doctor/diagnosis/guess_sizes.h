// Tensors of common models that have a given size, each with a weight.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "doctor/diagnosis/common_models.h"
#include "doctor/diagnosis/guess_clues.h"

namespace snug {

// The traceback's hint can be about such a tensor.
bool goes_with(CommonTensor tensor, TensorHint hint) noexcept;

struct SizeGuess {
  CommonTensor tensor = CommonTensor::kLogits;
  std::array<std::int64_t, 4> dims{};  // 0 behind the last
  std::int64_t element_bytes = 0;      // 4, or 2 for half precision
  std::int64_t bytes = 0;
  std::string_view model;
  double weight = 0;  // 1 for GPT-2's logits with a round batch
};

// In no order. At most a few ten thousand where `request` is no wider than a twentieth of itself.
std::vector<SizeGuess> size_guesses(const GuessClues& evidence, const LogAmount& request);

}  // namespace snug
