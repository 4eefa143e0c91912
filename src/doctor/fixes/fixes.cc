#include "doctor/fixes/fixes.h"

#include <algorithm>
#include <utility>

#include "config/fields.h"
#include "doctor/fixes/make.h"
#include "fit/search.h"

namespace snug {
namespace {

// How far down the list of splits goes behind the first that fits: safer, and safer still.
constexpr int kSaferSplits = 2;
constexpr std::int64_t kShortestContext = 64;
// 8-bit moments are an edit and a package: for runs of which they save at least a tenth.
constexpr std::int64_t kEightBitShare = 10;

TorchFix split_to(const TorchFixMaker& maker, ChangedRun after, std::int64_t batch) {
  const std::int64_t steps = after.effective_batch() / batch;
  maker.set_batch(after, batch);
  after.config.gradient_accumulation_steps = steps;
  after.run.accumulation_steps = std::max<std::int64_t>(1, steps / after.run.world_size);
  TorchFix fix = maker.make(TorchFixKind::kSplit, after);
  fix.same_training = true;
  return fix;
}

// nanoGPT asserts that the processes divide the accumulation.
bool is_possible_split(const ChangedRun& now, std::int64_t batch) {
  const std::int64_t steps = now.effective_batch() / batch;
  const Field& field = field_of(&Config::gradient_accumulation_steps);
  return batch < now.config.batch_size && steps % now.run.world_size == 0 &&
         field.limit.allows(static_cast<double>(steps));
}

// Every smaller batch that divides the effective one, down to two behind the first that fits.
std::vector<TorchFix> splits(const TorchFixMaker& maker) {
  const ChangedRun now = maker.now();
  const std::vector<std::int64_t> sizes = divisors(now.effective_batch());
  std::vector<TorchFix> fixes;
  int fitting = 0;
  for (auto size = sizes.rbegin(); size != sizes.rend() && fitting <= kSaferSplits; ++size) {
    if (!is_possible_split(now, *size)) continue;
    fixes.push_back(split_to(maker, now, *size));
    if (fixes.back().fits) ++fitting;
  }
  return fixes;
}

ChangedRun with_checkpoints(const TorchFixMaker& maker, ChangedRun after) {
  after.config.checkpoint_blocks = after.run.checkpoint_blocks = after.run.n_layer;
  if (maker.loaded().is_set("grad_checkpoint")) after.config.grad_checkpoint = true;
  return after;
}

// The same sequences per update, with less memory of them at once.
void add_same_training(std::vector<TorchFix>& fixes, const TorchFixMaker& maker) {
  const ChangedRun now = maker.now();
  const auto add = [&](TorchFixKind kind, const ChangedRun& after) {
    fixes.push_back(maker.make(kind, after));
    fixes.back().same_training = true;
  };
  if (now.run.eval_batch_size > 1) {
    ChangedRun after = now;
    after.config.eval_batch_size = after.run.eval_batch_size =
        std::max<std::int64_t>(1, now.run.eval_batch_size / 4);
    add(TorchFixKind::kEvalBatch, after);
  }
  if (now.run.checkpoint_blocks < now.run.n_layer) {
    add(TorchFixKind::kCheckpoint, with_checkpoints(maker, now));
  }
  if (!now.run.compiled && now.run.flash) {  // both came with PyTorch 2.0
    ChangedRun after = now;
    after.config.compile = after.run.compiled = true;
    add(TorchFixKind::kCompileOn, after);
  }
}

void add_coarser(std::vector<TorchFix>& fixes, const TorchFixMaker& maker) {
  const ChangedRun now = maker.now();
  if (now.run.compute == DType::kF32) {
    ChangedRun after = now;
    const bool has_bfloat16 = maker.card() == nullptr || maker.card()->bf16_tflops > 0;
    after.run.compute = has_bfloat16 ? DType::kBF16 : DType::kF16;
    after.config.dtype = name_of(after.run.compute);
    fixes.push_back(maker.make(TorchFixKind::kDtype16, after));
  }
  TorchFix eight_bit = maker.make_eight_bit();
  if (eight_bit.saved_bytes * kEightBitShare >= eight_bit.vram.high_bytes) {
    fixes.push_back(std::move(eight_bit));
  }
}

void add_fewer_sequences(std::vector<TorchFix>& fixes, const TorchFixMaker& maker) {
  ChangedRun after = maker.now();
  if (after.run.batch_size == 1) return;
  maker.set_batch(after, after.run.batch_size / 2);
  if (after.config.effective_batch > 0) after.config.effective_batch = after.effective_batch();
  fixes.push_back(maker.make(TorchFixKind::kFewerSequences, after));
}

// The largest of the sizes that fits, else half of what it is; sizes fall, and memory with them.
template <typename Resize>
void add_smaller(std::vector<TorchFix>& fixes, const TorchFixMaker& maker, TorchFixKind kind,
                 const std::vector<std::int64_t>& sizes, std::int64_t half, const Resize& resize) {
  const auto resized = [&](std::int64_t size) {
    ChangedRun after = maker.now();
    resize(size, after);
    return maker.make(kind, after);
  };
  const auto fitting =
      maker.card_bytes() == 0
          ? sizes.end()
          : std::partition_point(sizes.begin(), sizes.end(),
                                 [&](std::int64_t size) { return !resized(size).fits; });
  const std::int64_t size = fitting == sizes.end() ? half : *fitting;
  if (size >= 1) fixes.push_back(resized(size));
}

void add_shorter_context(std::vector<TorchFix>& fixes, const TorchFixMaker& maker) {
  const std::int64_t half = maker.now().run.block_size / 2;
  std::vector<std::int64_t> sizes;
  for (std::int64_t size = half; size >= kShortestContext; size /= 2) sizes.push_back(size);
  const auto shorten = [](std::int64_t size, ChangedRun& after) {
    after.config.block_size = after.run.block_size = size;
    after.run.eval_block_size = std::min(after.run.eval_block_size, size);
    after.config.eval_block_size = after.run.eval_block_size;
  };
  add_smaller(fixes, maker, TorchFixKind::kShorterContext, sizes,
              half >= kShortestContext ? half : 0, shorten);
}

// By a quarter at a time, then one by one.
std::vector<std::int64_t> sizes_below(std::int64_t size) {
  std::vector<std::int64_t> sizes;
  for (--size; size >= 1; size = size > 4 ? size * 3 / 4 : size - 1) sizes.push_back(size);
  return sizes;
}

void add_smaller_models(std::vector<TorchFix>& fixes, const TorchFixMaker& maker) {
  const TorchRun run = maker.now().run;
  add_smaller(fixes, maker, TorchFixKind::kFewerLayers, sizes_below(run.n_layer), run.n_layer / 2,
              [](std::int64_t layers, ChangedRun& after) {
                after.config.n_layer = after.run.n_layer = layers;
                after.run.checkpoint_blocks = std::min(after.run.checkpoint_blocks, layers);
                after.config.checkpoint_blocks = after.run.checkpoint_blocks;
              });
  const std::int64_t width = run.n_embd / run.n_head;
  add_smaller(fixes, maker, TorchFixKind::kNarrower, sizes_below(run.n_head), run.n_head / 2,
              [width](std::int64_t heads, ChangedRun& after) {
                after.config.n_head = after.run.n_head = heads;
                after.config.n_embd = after.run.n_embd = heads * width;
              });
}

// The largest of OpenAI's smaller models that fits, else the next smaller one.
void add_smaller_pretrained(std::vector<TorchFix>& fixes, const TorchFixMaker& maker) {
  const std::string& name = maker.loaded().values.init_from;
  std::vector<TorchFix> smaller;
  for (const char* const model : {"gpt2-large", "gpt2-medium", "gpt2"}) {
    LoadedConfig loaded = maker.loaded();
    loaded.values.init_from = model;
    resolve(loaded);
    ChangedRun after = maker.now();
    if (loaded.values.n_embd >= after.run.n_embd) continue;
    after.config = loaded.values;
    after.run.n_layer = after.config.n_layer;
    after.run.n_head = after.config.n_head;
    after.run.n_embd = after.config.n_embd;
    after.run.checkpoint_blocks = std::min(after.run.checkpoint_blocks, after.run.n_layer);
    after.config.checkpoint_blocks = after.run.checkpoint_blocks;
    smaller.push_back(maker.make(TorchFixKind::kSmallerPretrained, after));
    if (smaller.back().fits) break;
  }
  if (name == "gpt2" || smaller.empty()) return;
  fixes.push_back(smaller.back().fits ? smaller.back() : smaller.front());
}

// What the cause itself asks for comes before what merely makes the run smaller.
bool asked_for(TorchFixKind kind, const Diagnosis* diagnosis) {
  if (diagnosis == nullptr) return false;
  switch (kind) {
    case TorchFixKind::kAllocator:
      return diagnosis->cause == Cause::kFragmentation;
    case TorchFixKind::kFreeOthers:
      return diagnosis->cause == Cause::kCoTenant || diagnosis->cause == Cause::kFreeExceedsRequest;
    default:
      return false;
  }
}

void rank(std::vector<TorchFix>& fixes, const Diagnosis* diagnosis) {
  const auto place = [&](const TorchFix& f) {
    return std::make_tuple(!asked_for(f.kind, diagnosis), !f.same_training, !f.fits, f.needs_edit,
                           f.kind, -f.config.batch_size);
  };
  std::stable_sort(fixes.begin(), fixes.end(),
                   [&](const TorchFix& a, const TorchFix& b) { return place(a) < place(b); });
}

// The largest split whose upper end is within the limit.
std::optional<TorchFix> largest_within(const std::vector<TorchFix>& splits,
                                       std::int64_t limit_bytes) {
  for (const TorchFix& fix : splits) {
    if (fix.vram.high_bytes <= limit_bytes) return fix;
  }
  return std::nullopt;
}

// With every block checkpointed, and as few sequences at once as the processes allow.
TorchFix smallest_split(const TorchFixMaker& maker) {
  const ChangedRun now = maker.now();
  return split_to(maker, with_checkpoints(maker, now),
                  is_possible_split(now, 1) ? 1 : now.config.batch_size);
}

}  // namespace

std::string_view name_of(TorchFixKind kind) noexcept {
  switch (kind) {
    case TorchFixKind::kSplit:
      return "split";
    case TorchFixKind::kAllocator:
      return "allocator";
    case TorchFixKind::kFreeOthers:
      return "free_others";
    case TorchFixKind::kEvalBatch:
      return "eval_batch";
    case TorchFixKind::kCompileOn:
      return "compile_on";
    case TorchFixKind::kCheckpoint:
      return "checkpoint";
    case TorchFixKind::kDtype16:
      return "dtype_16";
    case TorchFixKind::kEightBitAdam:
      return "eight_bit_adam";
    case TorchFixKind::kFewerSequences:
      return "fewer_sequences";
    case TorchFixKind::kShorterContext:
      return "shorter_context";
    case TorchFixKind::kFewerLayers:
      return "fewer_layers";
    case TorchFixKind::kNarrower:
      return "narrower";
    case TorchFixKind::kSmallerPretrained:
      return "smaller_pretrained";
    case TorchFixKind::kOnProcessor:
      return "on_processor";
  }
  return "";
}

TorchRange torch_vram(const TorchMemory& memory) {
  const std::int64_t low = std::max(memory.train_range.low_bytes, memory.evaluate_range.low_bytes);
  const std::int64_t high =
      std::max({memory.train_range.high_bytes, memory.evaluate_range.high_bytes,
                memory.worst().reserved_bytes});
  return {low + memory.context_range.low_bytes, high + memory.context_range.high_bytes};
}

TorchFixes torch_fixes(const LoadedConfig& loaded, const TorchRun& run, std::int64_t card_bytes,
                       const Card* card, const Diagnosis* diagnosis) {
  const TorchFixMaker maker(loaded, run, card_bytes, card);
  TorchFixes fixes;
  fixes.fits_as_is = maker.fits_now();
  const std::vector<TorchFix> of_batch = splits(maker);
  fixes.ranked = of_batch;
  add_same_training(fixes.ranked, maker);
  add_coarser(fixes.ranked, maker);
  add_fewer_sequences(fixes.ranked, maker);
  add_shorter_context(fixes.ranked, maker);
  // A checkpoint's sizes cannot be changed.
  const std::string& start = loaded.values.init_from;
  if (start == "scratch") add_smaller_models(fixes.ranked, maker);
  if (start.starts_with("gpt2")) add_smaller_pretrained(fixes.ranked, maker);
  for (const TorchFixKind kind : {TorchFixKind::kAllocator, TorchFixKind::kFreeOthers}) {
    if (asked_for(kind, diagnosis)) {
      fixes.ranked.push_back(maker.make_outside(kind, loaded.values));
    }
  }
  rank(fixes.ranked, diagnosis);
  Config on_processor = loaded.values;
  on_processor.device = "cpu";
  fixes.ranked.push_back(maker.make_outside(TorchFixKind::kOnProcessor, on_processor));
  if (fixes.fits_as_is || card_bytes == 0) return fixes;
  fixes.recommended = largest_within(of_batch, card_bytes);
  fixes.safest = largest_within(of_batch, card_bytes / 2);
  if (!fixes.safest) fixes.safest = smallest_split(maker);
  if (!fixes.safest->fits) fixes.safest.reset();
  if (!fixes.recommended) fixes.recommended = fixes.safest;
  return fixes;
}

}  // namespace snug
