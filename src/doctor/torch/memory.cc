#include "doctor/torch/memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "gpt2/spec.h"

namespace snug::doctor::torch {
namespace {

// Observed beside PyTorch's own figures in out-of-memory messages: 0.13 GiB on a T4 to 0.55 GiB on
// an RTX 4090; to 3 GiB with NCCL's buffers.
constexpr ByteRange kContext{133 * kMiB, 563 * kMiB};
constexpr ByteRange kContextWithNccl{400 * kMiB, 3072 * kMiB};

// Of a compiled run's peaks, in which fusing decides what is kept.
constexpr double kCompiledTolerance = 0.03;

bool trains(const TorchSection& section, std::int32_t iteration) {
  const bool phase = section.phase == TorchPhase::kForward ||
                     section.phase == TorchPhase::kBackward ||
                     section.phase == TorchPhase::kOptimizer;
  return phase && section.iteration == iteration;
}

// The peak over the sections for which `belongs` holds.
template <typename Belongs>
TorchPeak peak_of(const TorchTape& tape, const Belongs& belongs) {
  TorchPeak peak;
  for (const TorchSection& section : tape.sections()) {
    if (!belongs(section)) continue;
    peak.allocated_bytes = std::max(peak.allocated_bytes, section.peak_allocated_bytes);
    peak.reserved_bytes = std::max(peak.reserved_bytes, section.peak_reserved_bytes);
    if (section.peak_requested_bytes <= peak.requested_bytes) continue;
    peak.requested_bytes = section.peak_requested_bytes;
    peak.phase = section.phase;
    peak.tensor = section.peak_tensor;
    peak.op = section.peak_tensor < 0 ? "" : tape.tensors()[section.peak_tensor].op;
  }
  return peak;
}

void fill_peaks(const TorchTape& tape, TorchMemory& memory) {
  const auto of_phase = [&](TorchPhase phase) {
    return peak_of(tape, [&](const TorchSection& s) { return s.phase == phase; });
  };
  memory.start = of_phase(TorchPhase::kStart);
  memory.evaluate_first = of_phase(TorchPhase::kEvaluateFirst);
  memory.evaluate_later = of_phase(TorchPhase::kEvaluateLater);
  memory.train_first = peak_of(tape, [](const TorchSection& s) { return trains(s, 0); });
  memory.train = peak_of(tape, [](const TorchSection& s) { return trains(s, 1); });
}

void fill_standing(const model::ModelSpec& model, TorchMemory& memory) {
  memory.parameter_count = model.parameter_count();
  memory.params_bytes = checked_mul(memory.parameter_count, 4);
  for (const model::ParameterSpec& parameter : model.parameters) {
    const std::int64_t bytes = allocator_rounding(checked_mul(parameter.shape.element_count(), 4));
    const std::int64_t step_bytes = memory.run.fused_adam ? allocator_rounding(4) : 0;
    memory.gradient_bytes = checked_add(memory.gradient_bytes, bytes);
    memory.optimizer_bytes = checked_add(memory.optimizer_bytes, 2 * bytes + step_bytes);
    memory.parameter_names.push_back(parameter.name);
  }
}

void fill_saved(TorchMemory& memory) {
  for (const TorchTensor& tensor : memory.tensors) {
    if (tensor.role == TorchRole::kCommunication) {
      if (tensor.saved) memory.bucket_bytes += tensor.bytes;
      continue;
    }
    if (!tensor.saved || tensor.iteration != 1 || tensor.micro_step != 0) continue;
    if (tensor.role == TorchRole::kWeightCopy) {
      memory.half_copies_bytes += tensor.bytes;
      continue;
    }
    memory.saved_bytes += tensor.bytes;
    if (tensor.role == TorchRole::kLoss) memory.loss_bytes += tensor.bytes;
  }
}

std::int64_t evaluation_bytes(const TorchMemory& memory) {
  return std::max(memory.evaluate_first.allocated_bytes, memory.evaluate_later.allocated_bytes);
}

// Compiled: the measured partition, which another release may cut a little otherwise.
void widen_ranges(TorchMemory& memory) {
  const auto tolerance = [](std::int64_t bytes) {
    return static_cast<std::int64_t>(kCompiledTolerance * static_cast<double>(bytes));
  };
  for (ByteRange* const range : {&memory.train_range, &memory.evaluate_range}) {
    range->low_bytes -= tolerance(range->low_bytes);
    range->high_bytes += tolerance(range->high_bytes);
  }
}

}  // namespace

const TorchPeak& TorchMemory::worst() const {
  const TorchPeak* worst = &start;
  for (const TorchPeak* peak : {&evaluate_first, &train_first, &train, &evaluate_later}) {
    if (peak->allocated_bytes > worst->allocated_bytes) worst = peak;
  }
  return *worst;
}

TorchMemory torch_memory(const TorchRun& run, const TorchExtent& extent) {
  check_torch_run(run);
  TorchTape tape;
  record_training(run, tape, extent);
  TorchMemory memory;
  memory.run = run;
  fill_peaks(tape, memory);
  memory.sections = tape.sections();
  memory.tensors = tape.tensors();
  memory.events = tape.events();
  memory.resident_bytes = memory.sections.back().end_allocated_bytes;
  fill_standing(gpt2::make_model_spec(run), memory);
  fill_saved(memory);
  memory.train_range = {memory.train.allocated_bytes, memory.train.allocated_bytes};
  memory.evaluate_range = {evaluation_bytes(memory), evaluation_bytes(memory)};
  memory.context_range = run.context.high_bytes > 0 ? run.context
                         : run.ddp                  ? kContextWithNccl
                                                    : kContext;
  if (run.compiled) widen_ranges(memory);
  return memory;
}

std::string torch_tensor_name(const TorchMemory& memory, const TorchTensor& tensor) {
  const std::string owner = torch_tensor_owner(memory, tensor);
  if (owner.empty()) return std::string(tensor.what);
  if (tensor.parameter < 0) return fmt::format("{}.{}", owner, tensor.what);
  return tensor.what.empty() ? owner : fmt::format("{} of {}", tensor.what, owner);
}

std::string torch_tensor_owner(const TorchMemory& memory, const TorchTensor& tensor) {
  if (tensor.parameter >= 0) {
    return memory.parameter_names[static_cast<std::size_t>(tensor.parameter)];
  }
  // cuBLAS has one workspace for all layers.
  const bool is_shared = tensor.role == TorchRole::kWorkspace;
  return tensor.layer < 0 || is_shared ? "" : fmt::format("h.{}", tensor.layer);
}

}  // namespace snug::doctor::torch
