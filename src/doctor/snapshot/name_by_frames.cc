// One allocation's role and tensor from its place in the code and its size.
#include <array>

#include "doctor/snapshot/names.h"
#include "doctor/torch/model.h"

namespace snug::doctor::snapshot {
namespace {

struct Product {
  const torch::TorchLinearLabels* labels;
  std::int64_t in, out;
};

Product product_of(Part part, const ModelSizes& sizes) {
  const std::int64_t c = sizes.width;
  switch (part) {
    case Part::kAttentionIn:
      return {&torch::kAttentionInLabels, c, 3 * c};
    case Part::kAttentionOut:
      return {&torch::kAttentionOutLabels, c, c};
    case Part::kMlpIn:
      return {&torch::kMlpInLabels, c, 4 * c};
    case Part::kMlpOut:
      return {&torch::kMlpOutLabels, 4 * c, c};
    case Part::kHead:
      return {&torch::kHeadLabels, c, sizes.vocabulary};
    default:
      return {nullptr, 0, 0};
  }
}

// What cuBLAS takes by default: before Hopper, on it, and cuBLASLt's.
bool is_workspace(std::int64_t bytes) {
  constexpr std::array<std::int64_t, 3> kWorkspaces = {8519680, 33554432, 1048576};
  for (const std::int64_t known : kWorkspaces) {
    if (bytes == known) return true;
  }
  return false;
}

void name_product(Part part, const ModelSizes& sizes, std::int64_t bytes, Name& name) {
  const Product product = product_of(part, sizes);
  const std::int64_t width = sizes.half ? 2 : 4;
  name.role = Role::kActivations;
  if (product.labels == nullptr || product.out == 0) {
    if (is_workspace(bytes)) name = {Role::kWorkspace, name.source, "cuBLAS workspace"};
    return;
  }
  if (sizes.half && (bytes == 2 * product.in * product.out || bytes == 2 * product.out)) {
    name.role = Role::kWeightCopies;
    name.label = "autocast copy";
  } else if (sizes.tokens > 0 && bytes == width * sizes.tokens * product.out) {
    name.label = product.labels->output;
    if (part == Part::kHead) name.role = Role::kLogits;
  } else if (sizes.half && bytes == 2 * sizes.tokens * product.in) {
    name.label = product.labels->input;
  } else if (is_workspace(bytes)) {
    name = {Role::kWorkspace, name.source, "cuBLAS workspace"};
  } else if (part == Part::kHead && product.out > 0 && bytes % product.out == 0 &&
             bytes > 8 * product.out) {
    name.role = Role::kLogits;
  }
}

void name_norm(std::string_view output, const ModelSizes& sizes, std::int64_t bytes, Name& name) {
  name.role = Role::kActivations;
  if (bytes == 4 * sizes.tokens * sizes.width) name.label = output;
  if (bytes == 4 * sizes.tokens) name.label = "layer norm's mean";
}

void name_attention(const Place& place, const ModelSizes& sizes, std::int64_t bytes, Name& name) {
  const std::int64_t stream = sizes.tokens * sizes.width, rows = sizes.tokens * sizes.heads;
  const std::int64_t scores = rows * sizes.block;
  name.role = Role::kActivations;
  if (bytes == (sizes.half ? 2 : 4) * stream) name.label = "attn output";
  if (bytes == 4 * rows) name.label = "attn log-sum-exp";
  if (bytes <= 24) name.label = "attn rng state";
  if (name.label.empty() && scores > stream &&
      (bytes == 2 * scores || bytes == 4 * scores || bytes == scores))
    name.label = place.op == Operator::kSoftmax ? "attn probabilities" : "attn scores";
  if (place.op == Operator::kDropout)
    name.label = bytes == stream ? "dropout mask" : "attn output, dropped out";
}

void name_loss(const ModelSizes& sizes, std::int64_t bytes, Name& name) {
  const std::int64_t elements = sizes.tokens * sizes.vocabulary;
  name.role = bytes > 64 ? Role::kLogits : Role::kActivations;
  if (bytes <= 4) name.label = "loss";
  if (elements == 0) return;
  if (bytes == 2 * elements) name.label = "log-probabilities";
  if (bytes == 4 * elements)
    name.label = sizes.half ? "log-probabilities in fp32" : "log-probabilities";
}

void name_top(const Place& place, const ModelSizes& sizes, std::int64_t bytes, Name& name) {
  const std::int64_t stream = sizes.tokens * sizes.width;
  name.role = Role::kActivations;
  if (bytes == 8 * sizes.block) name.label = "positions";
  if (stream == 0) return;
  if (bytes == 4 * stream) name.label = "embeddings";
  if (place.op == Operator::kDropout)
    name.label = bytes == stream ? "dropout mask" : "embeddings, dropped out";
}

void name_in_model(const Place& place, Part part, const ModelSizes& sizes, std::int64_t bytes,
                   Name& name) {
  const std::int64_t stream = sizes.tokens * sizes.width;
  switch (part) {
    case Part::kNorm1:
    case Part::kNorm2:
    case Part::kFinalNorm:
      return name_norm(part == Part::kNorm1   ? "ln_1 output"
                       : part == Part::kNorm2 ? "ln_2 output"
                                              : "ln_f output",
                       sizes, bytes, name);
    case Part::kAttention:
      return name_attention(place, sizes, bytes, name);
    case Part::kLoss:
      return name_loss(sizes, bytes, name);
    case Part::kTop:
      return name_top(place, sizes, bytes, name);
    case Part::kEmbedding:
      name.role = Role::kActivations;
      name.label = bytes == 4 * stream ? "token embeddings" : "position embeddings";
      return;
    case Part::kAttentionSum:
    case Part::kMlpSum:
      name.role = Role::kActivations;
      if (bytes == 4 * stream)
        name.label = part == Part::kAttentionSum ? "residual stream after attn"
                                                 : "residual stream after mlp";
      return;
    case Part::kMlpMiddle:
      name.role = Role::kActivations;
      name.label = place.op == Operator::kDropout
                       ? (bytes == stream ? "dropout mask" : "mlp output, dropped out")
                       : "mlp.gelu output";
      return;
    default:
      return name_product(part, sizes, bytes, name);
  }
}

// Outside of a model that is known: by the operator alone.
void name_by_operator(const Place& place, const ModelSizes& sizes, std::int64_t bytes, Name& name) {
  switch (place.op) {
    case Operator::kMove:
      name.role = Role::kWeights;
      break;
    case Operator::kLoad:
      name.role = Role::kLoaded;
      name.label = "state_dict";
      break;
    case Operator::kOptimizer:
      name.role = Role::kOptimizer;
      name.label = bytes <= 8 ? "step" : "AdamW state";
      break;
    case Operator::kDdp:
      name.role = Role::kCommunication;
      name.label = "DDP bucket";
      break;
    case Operator::kClip:
    case Operator::kStep:
    case Operator::kBackward:
      name.role = Role::kTemporary;
      break;
    case Operator::kCrossEntropy:
      name_loss(sizes, bytes, name);
      break;
    case Operator::kLinear:
      name_product(Part::kNone, sizes, bytes, name);
      break;
    case Operator::kDirect:
    case Operator::kOther:
      if (place.takes_batch) {
        name.role = Role::kInputs;
        name.label = "X (tokens)";
      } else if (place.in_forward || place.compiled || bytes <= 64) {
        name.role = Role::kActivations;
      }
      break;
    case Operator::kUnrecorded:
      break;
    default:
      name.role = Role::kActivations;
  }
}

}  // namespace

std::string_view name_of(Role role) noexcept {
  constexpr std::array<std::string_view, kRoleCount> kNames = {
      "weights", "optimizer", "gradients", "weight_copies", "activations", "logits",
      "inputs",  "temporary", "workspace", "communication", "loaded",      "unknown"};
  return kNames[static_cast<std::size_t>(role)];
}

std::string_view name_of(Source source) noexcept {
  return source == Source::kFrames ? "frames" : source == Source::kSize ? "size" : "nothing";
}

Name name_by_frames(const Place& place, Part part, const ModelSizes& sizes, std::int64_t bytes) {
  Name name;
  if (place.op == Operator::kUnrecorded) return name;
  name.source = Source::kFrames;
  if (part == Part::kNone) {
    name_by_operator(place, sizes, bytes, name);
  } else {
    name_in_model(place, part, sizes, bytes, name);
  }
  name.frame = place.frame;
  name.part = part;
  name.evaluates = place.evaluates;
  if (name.role == Role::kUnknown) name.source = Source::kNothing;
  return name;
}

}  // namespace snug::doctor::snapshot
