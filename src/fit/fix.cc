#include "fit/fix.h"

namespace snug::fit {

std::string_view name_of(Effect effect) noexcept {
  switch (effect) {
    case Effect::kSame:
      return "same";
    case Effect::kEvaluation:
      return "evaluation";
    case Effect::kReordered:
      return "reordered";
    case Effect::kRounding:
      return "rounding";
    case Effect::kFewerSequences:
      return "fewer_sequences";
    case Effect::kShorterContext:
      return "shorter_context";
    case Effect::kSmallerModel:
      return "smaller_model";
    case Effect::kMoreSequences:
      return "more_sequences";
    case Effect::kLongerContext:
      return "longer_context";
    case Effect::kLargerModel:
      return "larger_model";
  }
  return "";
}

std::string_view name_of(FixKind kind) noexcept {
  switch (kind) {
    case FixKind::kSplit:
      return "split";
    case FixKind::kAllocator:
      return "allocator";
    case FixKind::kFreeOthers:
      return "free_others";
    case FixKind::kEvalBatch:
      return "eval_batch";
    case FixKind::kEvalContext:
      return "eval_context";
    case FixKind::kCompileOn:
      return "compile_on";
    case FixKind::kCheckpoint:
      return "checkpoint";
    case FixKind::kDtype16:
      return "dtype_16";
    case FixKind::kEightBitAdam:
      return "eight_bit_adam";
    case FixKind::kFewerSequences:
      return "fewer_sequences";
    case FixKind::kShorterContext:
      return "shorter_context";
    case FixKind::kFewerLayers:
      return "fewer_layers";
    case FixKind::kNarrower:
      return "narrower";
    case FixKind::kSmallerPretrained:
      return "smaller_pretrained";
    case FixKind::kOnProcessor:
      return "on_processor";
    case FixKind::kRecomputeLight:
      return "recompute_light";
    case FixKind::kLossChunk:
      return "loss_chunk";
    case FixKind::kOptimizer16:
      return "optimizer_16";
    case FixKind::kCombination:
      return "combination";
    case FixKind::kSmallest:
      return "smallest";
    case FixKind::kLessRecomputing:
      return "less_recomputing";
    case FixKind::kLargerBatch:
      return "larger_batch";
    case FixKind::kLongerContext:
      return "longer_context";
    case FixKind::kMoreLayers:
      return "more_layers";
  }
  return "";
}

}  // namespace snug::fit
