#include "doctor/torch/attention.h"
#include "doctor/torch/memory.h"

namespace snug::doctor::torch {
namespace {

using Id = TorchAssumptionId;

Id attention_of(const TorchRun& run) {
  switch (torch_attention(run, true)) {
    case TorchAttention::kFlash:
      return Id::kFlashAttention;
    case TorchAttention::kEfficient:
      return Id::kEfficientAttention;
    case TorchAttention::kMath:
      return Id::kMathAttention;
    case TorchAttention::kManual:
      break;
  }
  return Id::kSlowAttention;
}

TorchAssumption autocast_of(const TorchRun& run) {
  if (run.compute == DType::kF32) return {Id::kNoAutocast, {}};
  return {Id::kAutocast, {std::string(name_of(run.compute))}};
}

void add_options(const TorchRun& run, std::vector<TorchAssumption>& list) {
  if (run.compiled) list.push_back({Id::kCompiled, {}});
  if (run.checkpoint_blocks > 0) {
    list.push_back(
        {Id::kCheckpoint, {std::to_string(run.checkpoint_blocks), std::to_string(run.n_layer)}});
  }
  if (run.resumed) list.push_back({Id::kResume, {}});
  if (run.ddp) list.push_back({Id::kDdp, {}});
}

}  // namespace

std::string_view name_of(TorchAssumptionId id) noexcept {
  constexpr std::string_view kNames[kTorchAssumptionCount] = {
      "version",   "version",    "autocast",  "autocast",  "attention", "attention",   "attention",
      "attention", "optimizer",  "optimizer", "gradients", "gradients", "logits_name", "evaluation",
      "compiled",  "checkpoint", "resume",    "ddp",       "allocator", "card",        "context"};
  return kNames[static_cast<std::size_t>(id)];
}

std::vector<TorchAssumption> torch_assumptions(const TorchRun& run) {
  const bool is_current = run.version == TorchVersion::kCurrent;
  std::vector<TorchAssumption> list;
  list.push_back({is_current ? Id::kLossCurrent : Id::kLossOlder, {}});
  list.push_back(autocast_of(run));
  list.push_back({attention_of(run), {}});
  list.push_back({run.fused_adam ? Id::kFusedAdam : Id::kForeachAdam, {}});
  list.push_back({run.accumulation_steps > 1 ? Id::kGradientsStand : Id::kGradientsAppear, {}});
  list.push_back({Id::kLogitsName, {}});
  list.push_back({Id::kEvaluation, {}});
  add_options(run, list);
  list.push_back({Id::kAllocator, {}});
  list.push_back(
      {Id::kCard, {std::to_string(run.multiprocessors), format_bytes(run.cublas_workspace_bytes)}});
  list.push_back({Id::kContext, {}});
  return list;
}

}  // namespace snug::doctor::torch
