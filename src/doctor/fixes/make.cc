#include "doctor/fixes/make.h"

#include <algorithm>
#include <iterator>

#include "config/fields.h"

namespace snug {
namespace {

// bitsandbytes keeps AdamW's moments in a byte per element and a float32 scale per 256 of them, of
// tensors with at least 4096 elements.
constexpr std::int64_t kScaledElements = 256, kLeastEightBitElements = 4096;

std::int64_t eight_bit_saves(const TorchRun& run) {
  std::int64_t saved = 0;
  for (const ParameterSpec& parameter : make_model_spec(run).parameters) {
    const std::int64_t elements = parameter.shape.element_count();
    if (elements < kLeastEightBitElements) continue;
    saved += 2 * (4 * elements - elements - 4 * (elements / kScaledElements));
  }
  return saved;
}

// Iteration 0 has no moments until its update.
void keep_before_update(const TorchMemory& memory, TorchPeak& train_first) {
  for (const TorchSection& section : memory.sections) {
    const bool passes =
        section.phase == TorchPhase::kForward || section.phase == TorchPhase::kBackward;
    if (!passes || section.iteration != 0) continue;
    train_first.allocated_bytes =
        std::max(train_first.allocated_bytes, section.peak_allocated_bytes);
    train_first.reserved_bytes = std::max(train_first.reserved_bytes, section.peak_reserved_bytes);
  }
}

// init_from = 'gpt2*' decides these, whatever the keys say.
bool is_forced(const Config& config, std::string_view key) {
  constexpr std::string_view kForced[] = {"n_layer", "n_head", "n_embd", "bias", "vocab_size"};
  return config.init_from.starts_with("gpt2") &&
         std::find(std::begin(kForced), std::end(kForced), key) != std::end(kForced);
}

// The keys that can be set, with their values in `after`: nanoGPT's, which derives none from
// others, and what else the user's file has.
std::vector<Change> changes_of(const LoadedConfig& loaded, const Config& after) {
  std::vector<Change> changes;
  for (const Field& field : all_fields()) {
    if (field.source != KeySource::kNanoGpt && !loaded.is_set(field.key)) continue;
    if (is_forced(after, field.key)) continue;
    std::string before = python_repr(field_value(loaded.values, field));
    std::string value = python_repr(field_value(after, field));
    if (before == value) continue;
    changes.push_back({std::string(field.key), std::move(before), std::move(value)});
  }
  return changes;
}

// Does `after` differ in what nanoGPT has no key for, and the user's file none either?
bool takes_an_edit(const LoadedConfig& loaded, const Config& after) {
  const Config& before = loaded.values;
  const bool evaluates_apart = after.eval_batch_size != after.batch_size &&
                               after.eval_batch_size != before.eval_batch_size &&
                               !loaded.is_set("eval_batch_size");
  const bool checkpoints = after.checkpoint_blocks > before.checkpoint_blocks &&
                           !loaded.is_set("checkpoint_blocks") && !loaded.is_set("grad_checkpoint");
  return evaluates_apart || checkpoints;
}

}  // namespace

TorchFixMaker::TorchFixMaker(const LoadedConfig& loaded, const TorchRun& run,
                             std::int64_t card_bytes, const Card* card)
    : loaded_(loaded),
      run_(run),
      card_bytes_(card_bytes),
      card_(card),
      time_(card),
      memory_(torch_memory(run)),
      now_(torch_vram(memory_)),
      seconds_now_(time_.seconds_per_token(memory_)) {}

void TorchFixMaker::set_batch(ChangedRun& changed, std::int64_t batch) const {
  const std::int64_t evaluated =
      loaded_.is_set("eval_batch_size") ? std::min(run_.eval_batch_size, batch) : batch;
  changed.config.batch_size = changed.run.batch_size = batch;
  changed.config.eval_batch_size = changed.run.eval_batch_size = evaluated;
}

void TorchFixMaker::set_vram(TorchFix& fix, const TorchRange& vram) const {
  fix.vram = vram;
  fix.saved_bytes = (now_.low_bytes + now_.high_bytes - vram.low_bytes - vram.high_bytes) / 2;
  fix.fits = card_bytes_ > 0 && vram.high_bytes <= card_bytes_;
}

TorchFix TorchFixMaker::described(TorchFixKind kind, const ChangedRun& after) const {
  TorchFix fix;
  fix.kind = kind;
  fix.config = after.config;
  fix.run = after.run;
  fix.changes = changes_of(loaded_, after.config);
  fix.needs_edit = takes_an_edit(loaded_, after.config);
  fix.effective_batch = after.effective_batch();
  fix.parameters = make_model_spec(after.run).reported_parameter_count();
  return fix;
}

TorchFix TorchFixMaker::make(TorchFixKind kind, const ChangedRun& after) const {
  TorchFix fix = described(kind, after);
  const TorchMemory memory = torch_memory(after.run);
  set_vram(fix, torch_vram(memory));
  fix.time_ratio = after.run.compiled != run_.compiled
                       ? kCompiledTime
                       : time_.seconds_per_token(memory) / seconds_now_;
  return fix;
}

TorchFix TorchFixMaker::make_eight_bit() const {
  TorchFix fix = described(TorchFixKind::kEightBitAdam, now());
  const std::int64_t saved = eight_bit_saves(run_);
  TorchMemory memory = memory_;
  for (TorchPeak* peak : {&memory.train_first, &memory.train, &memory.evaluate_later}) {
    peak->allocated_bytes -= saved;
    peak->reserved_bytes -= saved;
  }
  keep_before_update(memory_, memory.train_first);
  const std::int64_t first = memory.evaluate_first.allocated_bytes;
  memory.train_range.low_bytes -= saved;
  memory.train_range.high_bytes -= saved;
  memory.evaluate_range.low_bytes = std::max(first, memory.evaluate_range.low_bytes - saved);
  memory.evaluate_range.high_bytes = std::max(first, memory.evaluate_range.high_bytes - saved);
  set_vram(fix, torch_vram(memory));
  fix.needs_edit = true;
  return fix;
}

TorchFix TorchFixMaker::make_outside(TorchFixKind kind, const Config& after) const {
  TorchFix fix = described(kind, {after, run_});
  fix.same_training = true;
  if (kind == TorchFixKind::kOnProcessor) {
    fix.time_ratio = processor_seconds_per_token(run_) / seconds_now_;
  }
  return fix;
}

}  // namespace snug
