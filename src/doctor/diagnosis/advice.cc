#include "doctor/diagnosis/advice.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "doctor/diagnosis/run.h"

namespace snug::doctor::diagnosis {
namespace {

// How a program calls what saves memory.
struct Framework {
  std::string_view sign;  // in the path of a frame
  std::string_view batch, accumulation, checkpointing;
};
constexpr Framework kFrameworks[] = {
    {"transformers/trainer", "per_device_train_batch_size", "gradient_accumulation_steps",
     "gradient_checkpointing=True"},
    {"trl/", "per_device_train_batch_size", "gradient_accumulation_steps",
     "gradient_checkpointing=True"},
    {"torchtune", "batch_size", "gradient_accumulation_steps",
     "enable_activation_checkpointing=True"},
    {"litgpt", "--train.micro_batch_size", "--train.global_batch_size",
     "FSDPStrategy(activation_checkpointing_policy={Block})"},
    {"lightning", "DataLoader(batch_size=...)", "Trainer(accumulate_grad_batches=...)",
     "torch.utils.checkpoint.checkpoint"},
    {"nanochat", "--device_batch_size", "--total_batch_size", "torch.utils.checkpoint.checkpoint"},
    {"base_train", "--device_batch_size", "--total_batch_size",
     "torch.utils.checkpoint.checkpoint"},
    {"deepspeed", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps",
     "deepspeed.checkpointing.checkpoint"},
    {"transformers/", "batch_size", "gradient_accumulation_steps",
     "model.gradient_checkpointing_enable()"},
};
constexpr Framework kAnyProgram{"", "batch_size", "gradient_accumulation_steps",
                                "torch.utils.checkpoint.checkpoint"};

const Framework& framework_of(const log::LogEvent& event) {
  for (const Framework& framework : kFrameworks) {
    const bool is_it =
        std::any_of(event.frames.begin(), event.frames.end(), [&](const log::LogFrame& frame) {
          return frame.file.find(framework.sign) != std::string::npos;
        });
    if (is_it) return framework;
  }
  return kAnyProgram;
}

bool is_of_trainer(const Framework& framework) {
  return framework.batch == "per_device_train_batch_size";
}

bool shows_deepspeed(const log::LogEvent& event) {
  return std::any_of(event.frames.begin(), event.frames.end(), [](const log::LogFrame& frame) {
    return frame.file.find("deepspeed/") != std::string::npos;
  });
}

bool shows_foreach(const log::LogEvent& event) {
  return std::any_of(event.frames.begin(), event.frames.end(), [](const log::LogFrame& frame) {
    return frame.source.find("_foreach_") != std::string::npos ||
           frame.function.find("multi_tensor") != std::string::npos;
  });
}

// Where the sequences decide: fewer of them at once, then less kept of each.
void add_batch_advice(const Framework& names, Diagnosis& diagnosis) {
  auto& notes = diagnosis.notes;
  const bool is_evaluation = diagnosis.phase == torch::TorchPhase::kEvaluateFirst ||
                             diagnosis.phase == torch::TorchPhase::kEvaluateLater;
  if (is_evaluation && is_of_trainer(names)) {
    notes.push_back({NoteId::kAdviceEvaluation, {}});
    return;
  }
  notes.push_back(
      {NoteId::kAdviceBatch, {std::string(names.batch), std::string(names.accumulation)}});
  notes.push_back({NoteId::kAdviceCheckpointing, {std::string(names.checkpointing)}});
}

}  // namespace

void add_advice(const FailureEvidence& evidence, Diagnosis& diagnosis) {
  if (evidence.event.kind == log::LogEventKind::kVllmCache) return;  // its note says what helps
  if (diagnosis.cause != Cause::kCapacity && diagnosis.cause != Cause::kFragmentation &&
      diagnosis.cause != Cause::kStatesExceedCard && diagnosis.cause != Cause::kCoTenant) {
    return;
  }
  auto& notes = diagnosis.notes;
  const Framework& names = framework_of(evidence.event);
  const bool is_of_optimizer = diagnosis.phase == torch::TorchPhase::kOptimizer ||
                               evidence.moment.hint == TensorHint::kOptimizer;
  if (is_of_optimizer || shows_foreach(evidence.event)) {
    notes.push_back({NoteId::kAdviceOptimizer, {}});
  }
  if (shows_deepspeed(evidence.event)) notes.push_back({NoteId::kAdviceZero, {}});
  if (diagnosis.phase == torch::TorchPhase::kStart) {
    notes.push_back({NoteId::kAdviceLoading, {}});
  } else if (!is_of_optimizer) {
    add_batch_advice(names, diagnosis);
  }
  if (shows_ddp(evidence.log.facts)) notes.push_back({NoteId::kAdviceNccl, {}});
  notes.push_back({NoteId::kAdviceMonitor, {}});
}

}  // namespace snug::doctor::diagnosis
