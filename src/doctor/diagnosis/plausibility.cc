#include "doctor/diagnosis/plausibility.h"

namespace snug::doctor::diagnosis {
namespace {

bool goes_with(TensorHint hint, const torch::TorchTensor& tensor) {
  // Every product asks for it, in whatever part of the model.
  if (tensor.role == torch::TorchRole::kWorkspace) {
    return hint != TensorHint::kLoss && hint != TensorHint::kEmbedding &&
           hint != TensorHint::kOptimizer && hint != TensorHint::kWeights;
  }
  const torch::TorchPart part = torch::whole_of(tensor.part);
  switch (hint) {
    case TensorHint::kNone:
      return true;
    case TensorHint::kLoss:
      return part == torch::TorchPart::kLoss;
    case TensorHint::kLogits:
      return part == torch::TorchPart::kHead || part == torch::TorchPart::kLoss;
    case TensorHint::kSoftmax:
      return part == torch::TorchPart::kLoss || part == torch::TorchPart::kAttention;
    case TensorHint::kAttention:
      return part == torch::TorchPart::kAttention;
    case TensorHint::kMlp:
      return part == torch::TorchPart::kMlp;
    case TensorHint::kEmbedding:
      return part == torch::TorchPart::kEmbedding;
    case TensorHint::kOptimizer:
      return tensor.phase == torch::TorchPhase::kOptimizer;
    case TensorHint::kWeights:
      return tensor.phase == torch::TorchPhase::kStart &&
             tensor.role != torch::TorchRole::kOptimizer;
  }
  return true;
}

// Both name a line of one part of the model, and not the same.
bool is_of_other_line(const LogMoment& moment, const torch::TorchTensor& tensor) {
  if (moment.part == torch::TorchPart::kNone || tensor.role == torch::TorchRole::kWorkspace) {
    return false;
  }
  return torch::whole_of(moment.part) == torch::whole_of(tensor.part) && moment.part != tensor.part;
}

// train.py evaluates before the first iteration and prints a line after each part.
bool goes_with_progress(const LogMoment& moment, const torch::TorchTensor& tensor) {
  const bool trains = tensor.phase == torch::TorchPhase::kForward ||
                      tensor.phase == torch::TorchPhase::kBackward ||
                      tensor.phase == torch::TorchPhase::kOptimizer;
  const bool is_late =
      tensor.phase == torch::TorchPhase::kEvaluateLater || (trains && tensor.iteration > 0);
  if (moment.has_iterated) return is_late;
  if (moment.has_evaluated) return trains && !is_late;
  return !moment.has_start || (!trains && !is_late);
}

}  // namespace

double plausibility(const LogMoment& moment, const torch::TorchTensor& tensor) {
  double value = 1;
  if (!moment.allows(tensor.phase)) value *= 0.002;
  if (!goes_with(moment.hint, tensor)) value *= 0.05;
  if (is_of_other_line(moment, tensor)) value *= 0.02;
  if (!goes_with_progress(moment, tensor)) value *= 0.1;
  if (!moment.moment.empty() && tensor.role == torch::TorchRole::kOptimizer &&
      tensor.what != moment.moment) {
    value *= 0.05;
  }
  return value;
}

}  // namespace snug::doctor::diagnosis
