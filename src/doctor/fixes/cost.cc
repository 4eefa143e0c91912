#include "doctor/fixes/cost.h"

#include <algorithm>
#include <iterator>

#include "config/fields.h"
#include "config/pretrained.h"
#include "doctor/fixes/fixes.h"
#include "doctor/torch/replay.h"
#include "gpt2/spec.h"

namespace snug::doctor::fixes {
namespace {

// bitsandbytes keeps AdamW's moments in a byte per element and a float32 scale per 256 of them, of
// tensors with at least 4096 elements.
constexpr std::int64_t kScaledElements = 256, kMinEightBitElements = 4096;

std::int64_t eight_bit_saves(const torch::TorchRun& run) {
  std::int64_t saved = 0;
  for (const model::ParameterSpec& parameter : gpt2::make_model_spec(run).parameters) {
    const std::int64_t elements = parameter.shape.element_count();
    if (elements < kMinEightBitElements) continue;
    saved += 2 * (4 * elements - elements - 4 * (elements / kScaledElements));
  }
  return saved;
}

// Iteration 0 has no moments until its update.
void keep_before_update(const torch::TorchMemory& memory, torch::TorchPeak& train_first) {
  for (const torch::TorchSection& section : memory.sections) {
    const bool passes = section.phase == torch::TorchPhase::kForward ||
                        section.phase == torch::TorchPhase::kBackward;
    if (!passes || section.iteration != 0) continue;
    train_first.allocated_bytes =
        std::max(train_first.allocated_bytes, section.peak_allocated_bytes);
    train_first.reserved_bytes = std::max(train_first.reserved_bytes, section.peak_reserved_bytes);
  }
}

// init_from = 'gpt2*' decides these, whatever the keys say.
bool is_forced(const config::Config& config, std::string_view key) {
  constexpr std::string_view kForced[] = {"n_layer", "n_head", "n_embd", "bias", "vocab_size"};
  return config::is_pretrained(config.init_from) &&
         std::find(std::begin(kForced), std::end(kForced), key) != std::end(kForced);
}

}  // namespace

TorchCost::TorchCost(const config::LoadedConfig& loaded, const torch::TorchRun& run,
                     const fit::Card* card, std::int64_t card_bytes)
    : loaded_(loaded),
      run_(run),
      card_bytes_(card_bytes),
      time_(card),
      memory_(torch::torch_memory(run)),
      seconds_now_(time_.seconds_per_token(memory_)),
      now_(cost_of(memory_, 1)) {}

fit::Cost TorchCost::cost_of(const torch::TorchMemory& memory, double time_ratio) const {
  const model::ModelSpec model = gpt2::make_model_spec(memory.run);
  return {torch_need(memory, card_bytes_), time_ratio, model.parameter_count(),
          model.reported_parameter_count()};
}

torch::TorchRun TorchCost::run_after(const config::Config& after) const {
  torch::TorchRun run = torch::torch_run(after, run_.vocab_size);
  run.accumulation_steps = std::max<std::int64_t>(1, run.accumulation_steps / run_.world_size);
  run.world_size = run_.world_size;
  run.ddp = run_.ddp;
  run.flash = run_.flash;
  run.fused_adam = run_.fused_adam;
  run.resumed = run_.resumed;
  run.expandable_segments = run_.expandable_segments;
  run.version = run_.version;
  run.multiprocessors = run_.multiprocessors;
  run.cublas_workspace_bytes = run_.cublas_workspace_bytes;
  run.context = run_.context;
  return run;
}

fit::Cost TorchCost::cost(const config::Config& after) const {
  const torch::TorchMemory memory = torch::torch_memory(run_after(after));
  const bool is_compiled_otherwise = memory.run.compiled != run_.compiled;
  return cost_of(memory, is_compiled_otherwise ? kCompiledTime
                                               : time_.seconds_per_token(memory) / seconds_now_);
}

std::vector<config::Change> TorchCost::changes(const config::Config& after) const {
  std::vector<config::Change> changed;
  for (const config::Field& field : config::all_fields()) {
    if (field.source != config::KeySource::kNanoGpt && !loaded_.is_set(field.key)) continue;
    if (is_forced(after, field.key)) continue;
    std::string before = config::python_repr(config::field_value(loaded_.values, field));
    std::string value = config::python_repr(config::field_value(after, field));
    if (before == value) continue;
    changed.push_back({std::string(field.key), std::move(before), std::move(value)});
  }
  return changed;
}

bool TorchCost::needs_edit(const config::Config& after) const {
  const config::Config& before = loaded_.values;
  const bool evaluates_apart = after.eval_batch_size != after.batch_size &&
                               after.eval_batch_size != before.eval_batch_size &&
                               !loaded_.is_set("eval_batch_size");
  const bool evaluates_shorter =
      after.eval_block_size > 0 && after.eval_block_size < after.block_size &&
      after.eval_block_size != before.eval_block_size && !loaded_.is_set("eval_block_size");
  const bool checkpoints = after.checkpoint_blocks > before.checkpoint_blocks &&
                           !loaded_.is_set("checkpoint_blocks") &&
                           !loaded_.is_set("grad_checkpoint");
  return evaluates_apart || evaluates_shorter || checkpoints;
}

fit::Preference TorchCost::preference(const fit::Fix& fix) const {
  return {fix.same_result() ? 0 : 1, static_cast<double>(fix.kind), -fix.config.batch_size};
}

fit::Cost TorchCost::with_eight_bit_moments() const {
  const std::int64_t saved = eight_bit_saves(run_);
  torch::TorchMemory memory = memory_;
  for (torch::TorchPeak* peak : {&memory.train_first, &memory.train, &memory.evaluate_later}) {
    peak->allocated_bytes -= saved;
    peak->reserved_bytes -= saved;
  }
  keep_before_update(memory_, memory.train_first);
  const std::int64_t first = memory.evaluate_first.allocated_bytes;
  memory.train_range.low_bytes -= saved;
  memory.train_range.high_bytes -= saved;
  memory.evaluate_range.low_bytes = std::max(first, memory.evaluate_range.low_bytes - saved);
  memory.evaluate_range.high_bytes = std::max(first, memory.evaluate_range.high_bytes - saved);
  // No tape has such moments: what is reserved on a card without end counts.
  fit::Cost cost = now_;
  cost.need = torch_need(memory, 0);
  return cost;
}

fit::Cost TorchCost::with_allocator(const torch::TorchAllocatorSettings& settings) const {
  const torch::TorchReplay replay(run_);
  const std::int64_t smallest = replay.smallest_card(settings).bytes;
  const auto tolerance =
      static_cast<std::int64_t>(torch_tolerance(run_) * static_cast<double>(smallest));
  fit::Cost cost = now_;
  cost.need.high_bytes =
      std::max(cost.need.low_bytes, smallest + tolerance + memory_.context_range.high_bytes);
  return cost;
}

fit::Cost TorchCost::without_card(double time_ratio) const {
  return {{}, time_ratio, now_.parameters, now_.reported_parameters};
}

double TorchCost::processor_time_ratio() const {
  return processor_seconds_per_token(run_) / seconds_now_;
}

}  // namespace snug::doctor::fixes
