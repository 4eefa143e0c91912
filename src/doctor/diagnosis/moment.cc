#include "doctor/diagnosis/moment.h"

#include <algorithm>
#include <string_view>

namespace snug::doctor::diagnosis {
namespace {

constexpr unsigned bit(torch::TorchPhase phase) { return 1U << static_cast<unsigned>(phase); }
constexpr unsigned kEvaluation =
    bit(torch::TorchPhase::kEvaluateFirst) | bit(torch::TorchPhase::kEvaluateLater);

struct PhaseWord {
  std::string_view word;  // in a frame's function or source
  unsigned phases;
};
// The first that any frame has wins.
constexpr PhaseWord kPhaseWords[] = {
    {"estimate_loss", kEvaluation},
    {"evaluation_loop", kEvaluation},  // Hugging Face's Trainer, as the next
    {"prediction_step", kEvaluation},
    {"run_backward", bit(torch::TorchPhase::kBackward)},
    {".backward(", bit(torch::TorchPhase::kBackward)},
    {"CompiledFunctionBackward", bit(torch::TorchPhase::kBackward)},
    {"_and_remove_grads", bit(torch::TorchPhase::kBackward)},  // DeepSpeed's buckets, as the next
    {"reduce_ipg_grads", bit(torch::TorchPhase::kBackward)},
    {"reduce_and_partition_grads", bit(torch::TorchPhase::kBackward)},
    {"optimizer.step", bit(torch::TorchPhase::kOptimizer)},
    {"scaler.step", bit(torch::TorchPhase::kOptimizer)},
    {"clip_grad_norm", bit(torch::TorchPhase::kOptimizer)},
    {"exp_avg", bit(torch::TorchPhase::kOptimizer)},
    {"_init_group", bit(torch::TorchPhase::kOptimizer)},
    {"_multi_tensor_adam", bit(torch::TorchPhase::kOptimizer)},
    {"_foreach_", bit(torch::TorchPhase::kOptimizer)},
    {"get_state_buffer", bit(torch::TorchPhase::kOptimizer)},             // bitsandbytes
    {"initialize_optimizer_states", bit(torch::TorchPhase::kOptimizer)},  // DeepSpeed, as the next
    {"_take_model_step", bit(torch::TorchPhase::kOptimizer)},
    {"deepspeed.initialize", bit(torch::TorchPhase::kStart)},
    {"_configure_distributed_model", bit(torch::TorchPhase::kStart)},
    {"_configure_zero_optimizer", bit(torch::TorchPhase::kStart)},
    {"_create_fp16_partitions", bit(torch::TorchPhase::kStart)},
    {"_move_model_to_device", bit(torch::TorchPhase::kStart)},  // Trainer
    {"module.to(", bit(torch::TorchPhase::kStart)},
    {"model.to(", bit(torch::TorchPhase::kStart)},
    {"torch.load", bit(torch::TorchPhase::kStart)},
    {"load_state_dict", bit(torch::TorchPhase::kStart)},
    {"from_pretrained", bit(torch::TorchPhase::kStart)},
    {"crop_block_size", bit(torch::TorchPhase::kStart)},
    {"configure_optimizers", bit(torch::TorchPhase::kStart)},
    {".cuda()", bit(torch::TorchPhase::kStart)},
    {"evaluate(", kEvaluation},
    {"validate(", kEvaluation},
};

// Where frames come without their source: a function of a file tells by itself.
struct PhaseFunction {
  std::string_view folder, function;
  unsigned phases;
};
constexpr PhaseFunction kPhaseFunctions[] = {
    {"deepspeed/runtime", "backward", bit(torch::TorchPhase::kBackward)},
    {"deepspeed/runtime", "step", bit(torch::TorchPhase::kOptimizer)},
    {"torch/optim/", "step", bit(torch::TorchPhase::kOptimizer)},
    {"bitsandbytes/optim/", "step", bit(torch::TorchPhase::kOptimizer)},
    {"transformers/trainer", "evaluate", kEvaluation},
};

struct HintWord {
  std::string_view word;
  TensorHint hint;
};
constexpr HintWord kHintWords[] = {
    {"cross_entropy", TensorHint::kLoss},
    {"CrossEntropy", TensorHint::kLoss},
    {"log_softmax", TensorHint::kLoss},
    {"nll_loss", TensorHint::kLoss},
    {"lm_head", TensorHint::kLogits},
    {"shift_logits", TensorHint::kLogits},
    {"logits.float", TensorHint::kLogits},
    {"scaled_dot_product", TensorHint::kAttention},
    {"softmax(att", TensorHint::kAttention},
    {"attention_scores", TensorHint::kAttention},
    {"attn_weights", TensorHint::kAttention},
    {"q @ k", TensorHint::kAttention},
    {"att @ v", TensorHint::kAttention},
    {"masked_fill", TensorHint::kAttention},
    {"c_attn", TensorHint::kAttention},
    {"self.attn(", TensorHint::kAttention},
    {"softmax", TensorHint::kSoftmax},
    {"gelu", TensorHint::kMlp},
    {"silu", TensorHint::kMlp},
    {"c_fc", TensorHint::kMlp},
    {"gate_proj", TensorHint::kMlp},
    {"up_proj", TensorHint::kMlp},
    {"down_proj", TensorHint::kMlp},
    {"self.mlp(", TensorHint::kMlp},
    {"feed_forward", TensorHint::kMlp},
    {".wte(", TensorHint::kEmbedding},
    {".wpe(", TensorHint::kEmbedding},
    {"embedding(", TensorHint::kEmbedding},
    {"optimizer.step", TensorHint::kOptimizer},
    {"scaler.step", TensorHint::kOptimizer},
    {"exp_avg", TensorHint::kOptimizer},
    {"_init_group", TensorHint::kOptimizer},
    {"_foreach_", TensorHint::kOptimizer},
    {"get_state_buffer", TensorHint::kOptimizer},
    {"initialize_optimizer_states", TensorHint::kOptimizer},
    {"_take_model_step", TensorHint::kOptimizer},
    {"_create_fp16_partitions", TensorHint::kWeights},
    {"all_gather_coalesced", TensorHint::kWeights},  // ZeRO-3 fetches a layer's weights
    {"fetch_sub_module", TensorHint::kWeights},
    {"_move_model_to_device", TensorHint::kWeights},
    {"module.to(", TensorHint::kWeights},
    {"model.to(", TensorHint::kWeights},
    {"torch.load", TensorHint::kWeights},
};

bool has(const log::LogFrame& frame, std::string_view word) {
  return frame.source.find(word) != std::string::npos ||
         frame.function.find(word) != std::string::npos;
}

// train.py's own line of the forward pass; only a whole traceback shows that no evaluation is
// around it.
unsigned phases_of_forward(const std::vector<log::LogFrame>& frames) {
  bool is_whole = false, is_forward = false;
  for (const log::LogFrame& frame : frames) {
    is_whole = is_whole || frame.function == "<module>" || frame.function == "main" ||
               frame.function == "train" || frame.function.starts_with("train_");
    is_forward = is_forward || has(frame, "model(") || frame.function.ends_with("forward");
  }
  if (!is_forward) return 0;
  return is_whole ? bit(torch::TorchPhase::kForward)
                  : bit(torch::TorchPhase::kForward) | kEvaluation;
}

// Parts of the model that only a forward pass calls by name.
bool is_of_forward(TensorHint hint) {
  return hint != TensorHint::kNone && hint != TensorHint::kOptimizer &&
         hint != TensorHint::kWeights;
}

unsigned phases_of(const std::vector<log::LogFrame>& frames) {
  for (const PhaseWord& row : kPhaseWords) {
    const auto found = std::find_if(frames.begin(), frames.end(), [&](const log::LogFrame& frame) {
      return has(frame, row.word);
    });
    if (found != frames.end()) return row.phases;
  }
  for (const PhaseFunction& row : kPhaseFunctions) {
    const auto is_it = [&](const log::LogFrame& frame) {
      return frame.function == row.function && frame.file.find(row.folder) != std::string::npos;
    };
    if (std::any_of(frames.begin(), frames.end(), is_it)) return row.phases;
  }
  return phases_of_forward(frames);
}

// An evaluation that Trainer's own loop of training has called.
bool is_within_training(const std::vector<log::LogFrame>& frames) {
  return std::any_of(frames.begin(), frames.end(), [](const log::LogFrame& frame) {
    return frame.function.ends_with("_inner_training_loop");
  });
}

bool samples(const std::vector<log::LogFrame>& frames) {
  return std::any_of(frames.begin(), frames.end(), [](const log::LogFrame& frame) {
    return frame.function == "generate" || frame.source.find(".generate(") != std::string::npos;
  });
}

TensorHint hint_of(const log::LogFrame& frame) {
  for (const HintWord& row : kHintWords) {
    if (has(frame, row.word)) return row.hint;
  }
  return TensorHint::kNone;
}

// Goes from the innermost frame outwards; a softmax may still turn out to be attention's.
TensorHint hint_of(const std::vector<log::LogFrame>& frames) {
  TensorHint found = TensorHint::kNone;
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
    const TensorHint hint = hint_of(*frame);
    if (hint == TensorHint::kNone || hint == TensorHint::kSoftmax) {
      if (found == TensorHint::kNone) found = hint;
      continue;
    }
    if (found == TensorHint::kSoftmax) {
      const bool sharpens = hint == TensorHint::kAttention || hint == TensorHint::kLoss;
      return sharpens ? hint : found;
    }
    return hint;
  }
  return found;
}

struct PartWord {
  std::string_view word;
  torch::TorchPart in_attention, in_mlp;
};
// The lines of model.py's two parts of a block.
constexpr PartWord kPartWords[] = {
    {"c_attn", torch::TorchPart::kAttentionIn, torch::TorchPart::kNone},
    {"scaled_dot_product", torch::TorchPart::kAttentionHeads, torch::TorchPart::kNone},
    {"c_proj", torch::TorchPart::kAttentionOut, torch::TorchPart::kMlpOut},
    {"c_fc", torch::TorchPart::kNone, torch::TorchPart::kMlpIn},
    {"gelu", torch::TorchPart::kNone, torch::TorchPart::kGelu},
};

// The block's part of the outermost line that names one.
TensorHint block_part_of(const std::vector<log::LogFrame>& frames) {
  for (const log::LogFrame& frame : frames) {
    if (frame.source.find("self.attn(") != std::string::npos) return TensorHint::kAttention;
    if (frame.source.find("self.mlp(") != std::string::npos) return TensorHint::kMlp;
  }
  return TensorHint::kNone;
}

torch::TorchPart part_of(const std::vector<log::LogFrame>& frames) {
  const TensorHint block = block_part_of(frames);
  if (block == TensorHint::kNone) return torch::TorchPart::kNone;
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
    for (const PartWord& row : kPartWords) {
      if (frame->source.find(row.word) == std::string::npos) continue;
      return block == TensorHint::kAttention ? row.in_attention : row.in_mlp;
    }
  }
  return torch::TorchPart::kNone;
}

// "state["exp_avg_sq"] = torch.zeros_like(" in the innermost frame that has one of the two.
std::string_view adam_moment_of(const std::vector<log::LogFrame>& frames) {
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
    for (const std::string_view name : {"exp_avg_sq", "exp_avg"}) {
      const std::size_t at = frame->source.find(name);
      const bool is_set =
          at != std::string::npos && frame->source.find('=', at) != std::string::npos;
      if (is_set) return name;
    }
  }
  return {};
}

}  // namespace

std::optional<torch::TorchPhase> LogMoment::only_phase() const {
  std::optional<torch::TorchPhase> only;
  for (int i = 0; i <= static_cast<int>(torch::TorchPhase::kEvaluateLater); ++i) {
    const auto phase = static_cast<torch::TorchPhase>(i);
    if ((phases & bit(phase)) == 0) continue;
    if (only) return std::nullopt;
    only = phase;
  }
  return only;
}

LogMoment moment_of(const log::LogFacts& facts, const log::LogEvent& event) {
  LogMoment moment;
  moment.moment = adam_moment_of(event.frames);
  moment.is_sampling = samples(event.frames);
  if (!moment.is_sampling) moment.phases = phases_of(event.frames);
  moment.hint = hint_of(event.frames);
  moment.part = part_of(event.frames);
  if (!moment.is_sampling && moment.phases == 0 && is_of_forward(moment.hint)) {
    moment.phases = bit(torch::TorchPhase::kForward) | kEvaluation;
  }
  moment.has_start =
      facts.parameter_count || facts.tokens_per_iteration || facts.decayed_parameter_count;
  moment.has_evaluated = facts.evaluation_count > 0;
  moment.has_iterated = facts.last_iteration.has_value();
  if (moment.phases == kEvaluation && moment.has_start && !moment.has_evaluated) {
    moment.phases = bit(torch::TorchPhase::kEvaluateFirst);
  }
  if (moment.phases == kEvaluation &&
      (moment.has_evaluated || moment.has_iterated || is_within_training(event.frames))) {
    moment.phases = bit(torch::TorchPhase::kEvaluateLater);
  }
  return moment;
}

}  // namespace snug::doctor::diagnosis
