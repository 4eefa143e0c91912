// Candidate: a tensor that a failed request may have been for, and how it was found.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doctor/diagnosis/common_models.h"
#include "doctor/torch/memory.h"

namespace snug::doctor::diagnosis {

// How a candidate was found, the strongest first.
enum class Evidence : std::uint8_t {
  kShapeInLog,        // the log prints the very shape
  kSizeAndAllocated,  // size and "already allocated" both match one moment of the modelled run
  kSizeAndFrame,      // size matches, and so does the line of the traceback
  kSizeOnly,
  kGuess,  // no config: which tensor of a common model has such a size
};

// What a number means without a config: a tensor of a common model.
struct TensorGuess {
  struct Split {
    std::int64_t batch, tokens;
  };

  CommonTensor tensor = CommonTensor::kLogits;  // says what each dimension of the shape is
  std::vector<Split> other_splits;              // that make as many tokens, less likely
  std::string_view model;                       // "GPT-2"; a literal
};

struct Candidate {
  std::string tensor;  // "logits", "gradient of transformer.wte.weight": in English
  // What it is composed of, for other languages: a label of the closed set that the catalogue has,
  // and the parameter or block ("h.3") that it is of. Either may be empty, not both.
  std::string label, owner;
  std::string op;  // PyTorch's operator that allocates it; empty: not known
  std::vector<std::int64_t> shape;
  std::string dtype;  // "bfloat16"
  std::int64_t bytes = 0;
  std::optional<torch::TorchPhase> phase;
  std::int32_t count = 1;  // alike in so many layers or parameters
  double confidence = 0;   // 0 to 1; of all candidates together at most 1
  Evidence evidence = Evidence::kSizeOnly;
  std::optional<TensorGuess> guess;  // kGuess only
};

}  // namespace snug::doctor::diagnosis
