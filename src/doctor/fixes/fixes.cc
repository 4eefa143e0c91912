#include "doctor/fixes/fixes.h"

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "config/fields.h"
#include "config/pretrained.h"
#include "doctor/fixes/cost.h"
#include "fit/search.h"

namespace snug::doctor::fixes {
namespace {

// How far down the list of splits goes after the first that fits: safer, and safer still.
constexpr int kSaferSplits = 2;
constexpr std::int64_t kMinContext = 64;
// 8-bit moments are an edit and a package: for runs of which they save at least a tenth.
constexpr std::int64_t kEightBitShare = 10;

// What the candidates are made from: the run as it is, and the maker that prices changes of it.
struct Question {
  const config::LoadedConfig& loaded;
  const torch::TorchRun& run;
  const TorchCost& model;
  const fit::FixMaker& maker;
  const fit::Card* card;

  const config::Config& now() const { return loaded.values; }
};

// Evaluation follows, unless the user's file has a key for it: then it is at most that.
void set_batch(const config::LoadedConfig& loaded, std::int64_t batch, config::Config& config) {
  config.eval_batch_size =
      loaded.is_set("eval_batch_size") ? std::min(loaded.values.eval_batch_size, batch) : batch;
  config.batch_size = batch;
}

fit::Fix split_to(const Question& q, config::Config after, std::int64_t batch) {
  const std::int64_t steps = config::effective_batch_of(after) / batch;
  set_batch(q.loaded, batch, after);
  after.gradient_accumulation_steps = steps;
  return q.maker.make(fit::FixKind::kSplit, fit::Effect::kSame, after);
}

// nanoGPT asserts that the processes divide the accumulation.
bool is_possible_split(const Question& q, std::int64_t batch) {
  const std::int64_t steps = config::effective_batch_of(q.now()) / batch;
  const config::Field& field = config::field_of(&config::Config::gradient_accumulation_steps);
  return batch < q.now().batch_size && steps % q.run.world_size == 0 &&
         field.limit.allows(static_cast<double>(steps));
}

// Every smaller batch that divides the effective one, down to two after the first that fits.
std::vector<fit::Fix> splits(const Question& q) {
  const std::vector<std::int64_t> sizes = fit::divisors(config::effective_batch_of(q.now()));
  std::vector<fit::Fix> fixes;
  int fitting = 0;
  for (auto size = sizes.rbegin(); size != sizes.rend() && fitting <= kSaferSplits; ++size) {
    if (!is_possible_split(q, *size)) continue;
    fixes.push_back(split_to(q, q.now(), *size));
    if (fixes.back().fits) ++fitting;
  }
  return fixes;
}

config::Config with_checkpoints(const config::LoadedConfig& loaded) {
  config::Config after = loaded.values;
  after.checkpoint_blocks = after.n_layer;
  if (loaded.is_set("grad_checkpoint")) after.grad_checkpoint = true;
  return after;
}

// A smaller evaluation: where that saves something, or where an evaluation has failed.
void add_evaluation(std::vector<fit::Fix>& fixes, const Question& q,
                    const diagnosis::Diagnosis* diagnosis) {
  const bool has_failed =
      diagnosis != nullptr && (diagnosis->phase == torch::TorchPhase::kEvaluateFirst ||
                               diagnosis->phase == torch::TorchPhase::kEvaluateLater);
  const auto add = [&](fit::FixKind kind, fit::Effect effect, const config::Config& after) {
    fit::Fix fix = q.maker.make(kind, effect, after);
    // Less than a hundredth is the tolerance of the model.
    if (has_failed || fix.saved_bytes * 100 > fix.need.high_bytes) fixes.push_back(std::move(fix));
  };
  if (q.run.eval_batch_size > 1) {
    config::Config after = q.now();
    after.eval_batch_size = std::max<std::int64_t>(1, q.run.eval_batch_size / 4);
    add(fit::FixKind::kEvalBatch, fit::Effect::kSame, after);
  }
  if (q.run.eval_block_size >= 4 * kMinContext) {
    config::Config after = q.now();
    after.eval_block_size = q.run.eval_block_size / 4;
    add(fit::FixKind::kEvalContext, fit::Effect::kEvaluation, after);
  }
}

// The same sequences per update, with less memory of them at once.
void add_same_training(std::vector<fit::Fix>& fixes, const Question& q) {
  if (q.run.checkpoint_blocks < q.run.n_layer) {
    fixes.push_back(
        q.maker.make(fit::FixKind::kCheckpoint, fit::Effect::kSame, with_checkpoints(q.loaded)));
  }
  if (!q.run.compiled && q.run.flash) {  // both came with PyTorch 2.0
    config::Config after = q.now();
    after.compile = true;
    fixes.push_back(q.maker.make(fit::FixKind::kCompileOn, fit::Effect::kReordered, after));
  }
}

void add_coarser(std::vector<fit::Fix>& fixes, const Question& q) {
  if (q.run.compute == DType::kF32) {
    config::Config after = q.now();
    const bool has_bfloat16 = q.card == nullptr || q.card->bf16_tflops > 0;
    after.dtype = name_of(has_bfloat16 ? DType::kBF16 : DType::kF16);
    fixes.push_back(q.maker.make(fit::FixKind::kDtype16, fit::Effect::kRounding, after));
  }
  fit::Fix eight_bit = q.maker.make(fit::FixKind::kEightBitAdam, fit::Effect::kRounding, q.now(),
                                    q.model.with_eight_bit_moments());
  eight_bit.needs_edit = true;
  if (eight_bit.saved_bytes * kEightBitShare >= eight_bit.need.high_bytes) {
    fixes.push_back(std::move(eight_bit));
  }
}

void add_fewer_sequences(std::vector<fit::Fix>& fixes, const Question& q) {
  config::Config after = q.now();
  if (after.batch_size == 1) return;
  set_batch(q.loaded, after.batch_size / 2, after);
  if (after.effective_batch > 0) after.effective_batch = config::effective_batch_of(after);
  fixes.push_back(q.maker.make(fit::FixKind::kFewerSequences, fit::Effect::kFewerSequences, after));
}

// The largest of the sizes that fits, else half of what it is; sizes fall, and memory with them.
template <typename Resize>
void add_smaller(std::vector<fit::Fix>& fixes, const Question& q, fit::FixKind kind,
                 fit::Effect effect, const std::vector<std::int64_t>& sizes, std::int64_t half,
                 const Resize& resize) {
  const auto resized = [&](std::int64_t size) {
    config::Config after = q.now();
    resize(size, after);
    return q.maker.make(kind, effect, after);
  };
  const auto fitting =
      q.maker.usable_bytes() == 0
          ? sizes.end()
          : std::partition_point(sizes.begin(), sizes.end(),
                                 [&](std::int64_t size) { return !resized(size).fits; });
  const std::int64_t size = fitting == sizes.end() ? half : *fitting;
  if (size >= 1) fixes.push_back(resized(size));
}

void add_shorter_context(std::vector<fit::Fix>& fixes, const Question& q) {
  const std::int64_t half = q.now().block_size / 2;
  std::vector<std::int64_t> sizes;
  for (std::int64_t size = half; size >= kMinContext; size /= 2) sizes.push_back(size);
  const auto shorten = [](std::int64_t size, config::Config& after) {
    after.block_size = size;
    after.eval_block_size = std::min(after.eval_block_size, size);
  };
  add_smaller(fixes, q, fit::FixKind::kShorterContext, fit::Effect::kShorterContext, sizes,
              half >= kMinContext ? half : 0, shorten);
}

// By a quarter at a time, then one by one, down to a third: less is no longer the same experiment.
std::vector<std::int64_t> sizes_below(std::int64_t size) {
  const std::int64_t smallest = std::max<std::int64_t>(1, (size + 2) / 3);
  std::vector<std::int64_t> sizes;
  for (--size; size >= smallest; size = size > 4 ? size * 3 / 4 : size - 1) sizes.push_back(size);
  return sizes;
}

void add_smaller_models(std::vector<fit::Fix>& fixes, const Question& q) {
  const config::Config& now = q.now();
  add_smaller(fixes, q, fit::FixKind::kFewerLayers, fit::Effect::kSmallerModel,
              sizes_below(now.n_layer), now.n_layer / 2,
              [](std::int64_t layers, config::Config& after) {
                after.n_layer = layers;
                after.checkpoint_blocks = std::min(after.checkpoint_blocks, layers);
              });
  const std::int64_t width = now.n_embd / now.n_head;
  add_smaller(fixes, q, fit::FixKind::kNarrower, fit::Effect::kSmallerModel,
              sizes_below(now.n_head), now.n_head / 2,
              [width](std::int64_t heads, config::Config& after) {
                after.n_head = heads;
                after.n_embd = heads * width;
              });
}

// The largest of OpenAI's smaller models that fits, else the next smaller one.
void add_smaller_pretrained(std::vector<fit::Fix>& fixes, const Question& q) {
  std::vector<fit::Fix> smaller;
  for (const char* const model : {"gpt2-large", "gpt2-medium", "gpt2"}) {
    config::LoadedConfig loaded = q.loaded;
    loaded.values.init_from = model;
    config::resolve(loaded);
    config::Config& after = loaded.values;
    if (after.n_embd >= q.now().n_embd) continue;
    after.checkpoint_blocks = std::min(q.now().checkpoint_blocks, after.n_layer);
    smaller.push_back(
        q.maker.make(fit::FixKind::kSmallerPretrained, fit::Effect::kSmallerModel, after));
    if (smaller.back().fits) break;
  }
  if (smaller.empty()) return;
  fixes.push_back(smaller.back().fits ? smaller.back() : smaller.front());
}

// Where pieces of memory take a twentieth of what is needed, other settings of the allocator are
// worth a row; where they are the cause, the first.
void add_allocator(std::vector<fit::Fix>& fixes, const Question& q,
                   const diagnosis::Diagnosis& diagnosis) {
  constexpr std::int64_t kWorthSaying = 20;
  const bool is_cause = diagnosis.cause == diagnosis::Cause::kFragmentation;
  if (diagnosis.allocator_advice == diagnosis::AllocatorAdvice::kNone) return;
  torch::TorchAllocatorSettings settings;
  if (diagnosis.allocator_advice == diagnosis::AllocatorAdvice::kExpandable) {
    settings.expandable_segments = true;
  } else {
    settings.max_split_bytes = diagnosis::kAdvisedMaxSplitMib * kMiB;
  }
  const fit::Fix fix = q.maker.make(fit::FixKind::kAllocator, fit::Effect::kSame, q.now(),
                                    q.model.with_allocator(settings));
  const bool is_little = fix.saved_bytes * kWorthSaying < fix.need.high_bytes;
  if (!is_cause && is_little) return;
  fixes.push_back(fix);
  // Blocks that stay whole need not be enough; then the row says so in its place.
  fixes.back().asked_for = is_cause && (fix.fits || settings.expandable_segments);
}

// What the cause itself asks for comes before what merely makes the run smaller.
void add_asked_for(std::vector<fit::Fix>& fixes, const Question& q,
                   const diagnosis::Diagnosis& diagnosis) {
  add_allocator(fixes, q, diagnosis);
  if (diagnosis.cause != diagnosis::Cause::kCoTenant &&
      diagnosis.cause != diagnosis::Cause::kFreeExceedsRequest) {
    return;
  }
  fixes.push_back(
      q.maker.make(fit::FixKind::kFreeOthers, fit::Effect::kSame, q.now(), q.model.without_card()));
  fixes.back().asked_for = true;
}

// What the driver or a library refuse is not a matter of the batch.
bool helps_to_shrink(const diagnosis::Diagnosis* diagnosis) {
  if (diagnosis == nullptr || !diagnosis->event) return true;
  switch (diagnosis->cause) {
    case diagnosis::Cause::kDriver:
    case diagnosis::Cause::kLibrary:
    case diagnosis::Cause::kHostMemory:
    case diagnosis::Cause::kNotMemory:
      return false;
    default:
      return true;
  }
}

bool has_filled_card(const diagnosis::Diagnosis* diagnosis) {
  if (diagnosis == nullptr || !diagnosis->event) return false;
  return log::memory_of(diagnosis->event->kind) == log::LogMemory::kCard;
}

fit::Fix on_processor(const Question& q) {
  config::Config after = q.now();
  after.device = "cpu";
  return q.maker.make(fit::FixKind::kOnProcessor, fit::Effect::kSame, after,
                      q.model.without_card(q.model.processor_time_ratio()));
}

// The largest split whose upper end is within the limit.
std::optional<fit::Fix> largest_within(const std::vector<fit::Fix>& splits,
                                       std::int64_t limit_bytes) {
  for (const fit::Fix& fix : splits) {
    if (fix.need.high_bytes <= limit_bytes) return fix;
  }
  return std::nullopt;
}

// With every block checkpointed, and as few sequences at once as the processes allow.
fit::Fix smallest_split(const Question& q) {
  return split_to(q, with_checkpoints(q.loaded), is_possible_split(q, 1) ? 1 : q.now().batch_size);
}

}  // namespace

fit::Fixes torch_fixes(const config::LoadedConfig& loaded, const torch::TorchRun& run,
                       std::int64_t card_bytes, const fit::Card* card,
                       const diagnosis::Diagnosis* diagnosis) {
  const TorchCost model(loaded, run, card, card_bytes);
  const fit::FixMaker maker(model, loaded, card_bytes);
  const Question q{loaded, run, model, maker, card};
  fit::Fixes fixes;
  fixes.before = loaded.values;
  // A run that died on this card does not fit it, whatever the model says.
  fixes.fits_as_is = maker.fits_now() && !has_filled_card(diagnosis);
  const std::vector<fit::Fix> of_batch = splits(q);
  fixes.ranked = of_batch;
  add_evaluation(fixes.ranked, q, diagnosis);
  add_same_training(fixes.ranked, q);
  add_coarser(fixes.ranked, q);
  add_fewer_sequences(fixes.ranked, q);
  // A checkpoint's sizes cannot be changed, nor the context that its moments are as long as:
  // nanoGPT crops the positions of a resumed model, and AdamW then stops at the saved moments.
  const std::string& start = loaded.values.init_from;
  if (start != "resume") add_shorter_context(fixes.ranked, q);
  if (start == "scratch") add_smaller_models(fixes.ranked, q);
  if (config::is_pretrained(start)) add_smaller_pretrained(fixes.ranked, q);
  if (diagnosis != nullptr) add_asked_for(fixes.ranked, q, *diagnosis);
  fit::rank_fixes(fixes.ranked, model);
  fixes.ranked.push_back(on_processor(q));
  if (fixes.fits_as_is || card_bytes == 0 || !helps_to_shrink(diagnosis)) return fixes;
  fixes.chosen = largest_within(of_batch, card_bytes);
  fixes.safest = largest_within(of_batch, card_bytes / 2);
  if (!fixes.safest) fixes.safest = smallest_split(q);
  if (!fixes.safest->fits) fixes.safest.reset();
  if (!fixes.chosen) fixes.chosen = fixes.safest;
  return fixes;
}

}  // namespace snug::doctor::fixes
