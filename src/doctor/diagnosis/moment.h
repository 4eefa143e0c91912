// What a traceback and a run's own lines tell of the moment of a failure.
#pragma once

#include <optional>
#include <string_view>

#include "doctor/log/summary.h"
#include "doctor/torch/memory.h"

namespace snug::doctor::diagnosis {

// The part of the model that the innermost telling line of a traceback names.
enum class TensorHint : std::uint8_t {
  kNone,
  kLoss,     // cross_entropy and what it calls
  kLogits,   // lm_head
  kSoftmax,  // of attention or over the vocabulary
  kAttention,
  kMlp,
  kEmbedding,
  kOptimizer,  // the step: AdamW's state
  kWeights,    // moving or loading a model
};

struct LogMoment {
  unsigned phases = 0;  // bit per TorchPhase that the traceback allows; 0: it does not tell
  TensorHint hint = TensorHint::kNone;
  // The line of model.py within that part, where one is named.
  torch::TorchPart part = torch::TorchPart::kNone;
  std::string_view moment;  // "exp_avg" or "exp_avg_sq": the one of AdamW's that is being made

  bool is_sampling = false;  // inside generate(): no phase of train.py

  // From the lines of train.py, where they are in the log.
  bool has_start = false;  // "number of parameters" and the like
  bool has_evaluated = false;
  bool has_iterated = false;

  bool allows(torch::TorchPhase phase) const noexcept {
    return phases == 0 || (phases >> static_cast<unsigned>(phase) & 1U) != 0;
  }
  bool tells() const noexcept { return phases != 0 || hint != TensorHint::kNone; }
  // The only one; nothing when there are several.
  std::optional<torch::TorchPhase> only_phase() const;
};

LogMoment moment_of(const log::LogFacts& facts, const log::LogEvent& event);

}  // namespace snug::doctor::diagnosis
