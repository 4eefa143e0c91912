#include "program/program.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace snug {

std::string_view name_of(Role role) {
  constexpr std::array<std::string_view, kRoleCount> kNames = {
      "weights", "gradients", "optimizer state", "activations", "loss head", "workspace", "I/O"};
  return kNames[static_cast<std::size_t>(role)];
}

std::string_view name_of(OpKind kind) {
  switch (kind) {
    case OpKind::kZero:
      return "zero";
    case OpKind::kResetEmbedRows:
      return "reset_embed_rows";
    case OpKind::kEmbed:
      return "embed";
    case OpKind::kEmbedBackward:
      return "embed_backward";
    case OpKind::kMergeEmbedRows:
      return "merge_embed_rows";
    case OpKind::kLayerNorm:
      return "layernorm";
    case OpKind::kLayerNormApply:
      return "layernorm_apply";
    case OpKind::kLayerNormBackward:
      return "layernorm_backward";
    case OpKind::kLinear:
      return "linear";
    case OpKind::kLinearDx:
      return "linear_dx";
    case OpKind::kLinearDw:
      return "linear_dw";
    case OpKind::kGelu:
      return "gelu";
    case OpKind::kGeluBackward:
      return "gelu_backward";
    case OpKind::kAttention:
      return "attention";
    case OpKind::kAttentionBackward:
      return "attention_backward";
    case OpKind::kAttentionDecode:
      return "attention_decode";
    case OpKind::kKvStore:
      return "kv_store";
    case OpKind::kResidualAdd:
      return "residual_add";
    case OpKind::kDropoutBackward:
      return "dropout_backward";
    case OpKind::kCrossEntropy:
      return "cross_entropy";
    case OpKind::kGradientNorm:
      return "gradient_norm";
    case OpKind::kAdamW:
      return "adamw";
    case OpKind::kCast:
      return "cast";
    case OpKind::kCheckpointWrite:
      return "checkpoint_write";
    case OpKind::kCheckpointRead:
      return "checkpoint_read";
  }
  return "?";
}

std::string_view name_of(PhaseKind kind) {
  switch (kind) {
    case PhaseKind::kLoad:
      return "resume";
    case PhaseKind::kEvaluate:
      return "evaluate";
    case PhaseKind::kBeginIteration:
      return "begin";
    case PhaseKind::kMicroStep:
      return "train";
    case PhaseKind::kUpdate:
      return "update";
    case PhaseKind::kSave:
      return "save";
    case PhaseKind::kPrefill:
      return "prefill";
    case PhaseKind::kDecode:
      return "decode";
  }
  return "?";
}

std::int64_t chunk_end(const Op& op, std::int64_t T, std::int64_t first, std::int64_t total_rows) {
  const std::int64_t last = std::min(first + op.chunk_rows, total_rows);
  return last == total_rows ? last : last - last % T % op.tile_rows;
}

const Phase& Program::phase(PhaseKind kind) const {
  for (const Phase& candidate : phases) {
    if (candidate.kind == kind) return candidate;
  }
  throw InternalError(fmt::format("the program has no phase '{}'", name_of(kind)));
}

}  // namespace snug
