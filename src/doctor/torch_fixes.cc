#include "doctor/torch_fixes.h"

#include <algorithm>
#include <utility>

#include "fit/search.h"
#include "model/model_spec.h"

namespace snug {
namespace {

// Seconds per token against now, where no better is known: what recomputing a block's forward adds
// (a third of the block's work), what torch.compile gains on nanoGPT's own account (250 -> 135 ms
// per iteration), and a card's 16-bit products against its float32 ones. An update in more
// micro-batches costs a few launches.
constexpr double kCheckpointTime = 1.3, kCompileTime = 0.55, kSplitTime = 1.02, kOnProcessor = 50;

// How far down the list of splits goes behind the first that fits: safer, and safer still.
constexpr int kSaferSplits = 2;

class FixList {
 public:
  FixList(const LoadedConfig& loaded, const TorchRun& run, std::int64_t card_bytes)
      : loaded_(loaded), run_(run), card_bytes_(card_bytes), now_(torch_vram(torch_memory(run))) {}

  TorchFix make(TorchFixKind kind, const Config& config, const TorchRun& run) const {
    TorchFix fix;
    fix.kind = kind;
    fix.config = config;
    fix.changes = changes_to(loaded_, config);
    fix.effective_batch = config.batch_size * config.gradient_accumulation_steps;
    const TorchMemory memory = torch_memory(run);
    fix.vram = torch_vram(memory);
    fix.saved_bytes =
        (now_.low_bytes + now_.high_bytes - fix.vram.low_bytes - fix.vram.high_bytes) / 2;
    fix.parameters = torch_model_spec(run).reported_parameter_count();
    fix.fits = card_bytes_ > 0 && fix.vram.high_bytes <= card_bytes_;
    fix.time_ratio = flops_ratio(run);
    return fix;
  }

  const Config& config() const { return loaded_.values; }
  const TorchRun& run() const { return run_; }
  bool fits_now() const { return card_bytes_ > 0 && now_.high_bytes <= card_bytes_; }
  std::int64_t card_bytes() const { return card_bytes_; }

 private:
  // Of a token's arithmetic.
  double flops_ratio(const TorchRun& run) const {
    return flops_per_token(torch_model_spec(run), run.block_size) /
           flops_per_token(torch_model_spec(run_), run_.block_size);
  }

  const LoadedConfig& loaded_;
  const TorchRun& run_;
  std::int64_t card_bytes_;
  TorchRange now_;
};

TorchFix split_to(const FixList& list, const Config& from, const TorchRun& run,
                  std::int64_t batch) {
  Config config = from;
  TorchRun next = run;
  const std::int64_t effective = from.batch_size * from.gradient_accumulation_steps;
  const std::int64_t ranks =
      std::max<std::int64_t>(1, from.gradient_accumulation_steps / run.accumulation_steps);
  config.batch_size = config.eval_batch_size = batch;
  config.gradient_accumulation_steps = effective / batch;
  next.batch_size = next.eval_batch_size = batch;
  next.accumulation_steps = std::max<std::int64_t>(1, effective / batch / ranks);
  TorchFix fix = list.make(TorchFixKind::kSplit, config, next);
  fix.time_ratio *= kSplitTime;
  fix.same_training = true;
  return fix;
}

// Every smaller batch that divides the effective one, down to two behind the first that fits.
std::vector<TorchFix> splits(const FixList& list) {
  const Config& config = list.config();
  const std::int64_t effective = config.batch_size * config.gradient_accumulation_steps;
  std::vector<std::int64_t> sizes = divisors(effective);
  std::vector<TorchFix> fixes;
  int fitting = 0;
  for (auto size = sizes.rbegin(); size != sizes.rend() && fitting <= kSaferSplits; ++size) {
    if (*size >= config.batch_size) continue;
    fixes.push_back(split_to(list, config, list.run(), *size));
    if (fixes.back().fits) ++fitting;
  }
  return fixes;
}

void add_edits(std::vector<TorchFix>& fixes, const FixList& list) {
  const auto add = [&](TorchFixKind kind, const TorchRun& run, double time) {
    TorchFix fix = list.make(kind, list.config(), run);
    fix.needs_edit = true;
    fix.same_training = true;
    fix.time_ratio *= time;
    fixes.push_back(std::move(fix));
  };
  if (list.run().eval_batch_size > 1) {
    TorchRun run = list.run();
    run.eval_batch_size = std::max<std::int64_t>(1, run.eval_batch_size / 4);
    add(TorchFixKind::kEvalBatch, run, 1);
  }
  if (list.run().checkpoint_blocks < list.run().n_layer) {
    TorchRun run = list.run();
    run.checkpoint_blocks = run.n_layer;
    add(TorchFixKind::kCheckpoint, run, kCheckpointTime);
  }
}

void add_switches(std::vector<TorchFix>& fixes, const FixList& list) {
  if (!list.run().compiled) {
    TorchRun run = list.run();
    Config config = list.config();
    run.compiled = config.compile = true;
    TorchFix fix = list.make(TorchFixKind::kCompileOn, config, run);
    fix.same_training = true;
    fix.time_ratio *= kCompileTime;
    fixes.push_back(std::move(fix));
  }
  if (list.run().compute == DType::kF32) {
    TorchRun run = list.run();
    Config config = list.config();
    run.compute = DType::kBF16;
    config.dtype = "bfloat16";
    TorchFix fix = list.make(TorchFixKind::kDtype16, config, run);
    fix.time_ratio *= 0.5;
    fixes.push_back(std::move(fix));
  }
}

// Half the context until it fits.
void add_shorter(std::vector<TorchFix>& fixes, const FixList& list) {
  for (std::int64_t block = list.run().block_size / 2; block >= 64; block /= 2) {
    TorchRun run = list.run();
    Config config = list.config();
    run.block_size = run.eval_block_size = block;
    config.block_size = config.eval_block_size = block;
    TorchFix fix = list.make(TorchFixKind::kShorterContext, config, run);
    const bool last = fix.fits || block / 2 < 64;
    if (last || block == list.run().block_size / 2) fixes.push_back(std::move(fix));
    if (last) break;
  }
}

// The largest smaller model of a kind that fits, else the smallest tried.
template <typename Resize>
void add_smaller(std::vector<TorchFix>& fixes, const FixList& list, TorchFixKind kind,
                 std::int64_t largest, const Resize& resize) {
  for (std::int64_t size = largest; size >= 1; size = size > 4 ? size * 3 / 4 : size - 1) {
    TorchRun run = list.run();
    Config config = list.config();
    resize(size, run, config);
    TorchFix fix = list.make(kind, config, run);
    if (!fix.fits && size > 1) continue;
    fixes.push_back(std::move(fix));
    return;
  }
}

void add_smaller_models(std::vector<TorchFix>& fixes, const FixList& list) {
  add_smaller(fixes, list, TorchFixKind::kFewerLayers, list.run().n_layer - 1,
              [](std::int64_t layers, TorchRun& run, Config& config) {
                run.n_layer = config.n_layer = layers;
                run.checkpoint_blocks = std::min(run.checkpoint_blocks, layers);
              });
  const std::int64_t width = list.run().n_embd / list.run().n_head;
  add_smaller(fixes, list, TorchFixKind::kNarrower, list.run().n_head - 1,
              [width](std::int64_t heads, TorchRun& run, Config& config) {
                run.n_head = config.n_head = heads;
                run.n_embd = config.n_embd = heads * width;
              });
}

TorchFix outside_of_the_model(const FixList& list, TorchFixKind kind) {
  TorchFix fix;
  fix.kind = kind;
  fix.config = list.config();
  fix.effective_batch = fix.config.batch_size * fix.config.gradient_accumulation_steps;
  fix.same_training = true;
  fix.parameters = torch_model_spec(list.run()).reported_parameter_count();
  return fix;
}

// What the cause itself asks for comes before what merely makes the run smaller.
bool asked_for(const TorchFix& fix, const Diagnosis* diagnosis) {
  if (diagnosis == nullptr) return false;
  switch (fix.kind) {
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
    return std::make_tuple(!asked_for(f, diagnosis), !f.same_training, !f.fits, f.needs_edit,
                           f.kind, -f.config.batch_size);
  };
  std::stable_sort(fixes.begin(), fixes.end(),
                   [&](const TorchFix& a, const TorchFix& b) { return place(a) < place(b); });
}

// A key-only split whose upper end fits; where none does, the smallest split with checkpointing.
std::optional<TorchFix> recommend(const std::vector<TorchFix>& fixes, std::int64_t limit_bytes) {
  for (const TorchFix& fix : fixes) {
    if (fix.kind == TorchFixKind::kSplit && fix.vram.high_bytes <= limit_bytes) return fix;
  }
  return std::nullopt;
}

TorchFix smallest_split(const FixList& list) {
  Config config = list.config();
  TorchRun run = list.run();
  run.checkpoint_blocks = run.n_layer;
  TorchFix fix = split_to(list, config, run, 1);
  fix.needs_edit = true;
  fix.time_ratio *= kCheckpointTime;
  return fix;
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
                       const Diagnosis* diagnosis) {
  const FixList list(loaded, run, card_bytes);
  TorchFixes fixes;
  const std::vector<TorchFix> of_batch = splits(list);
  fixes.ranked = of_batch;
  add_edits(fixes.ranked, list);
  add_switches(fixes.ranked, list);
  if (loaded.values.batch_size > 1) {
    Config config = loaded.values;
    TorchRun fewer = run;
    config.batch_size = config.eval_batch_size = fewer.batch_size = fewer.eval_batch_size =
        run.batch_size / 2;
    config.effective_batch = 0;
    fixes.ranked.push_back(list.make(TorchFixKind::kFewerSequences, config, fewer));
  }
  add_shorter(fixes.ranked, list);
  if (run.n_layer > 1 || run.n_head > 1) add_smaller_models(fixes.ranked, list);
  for (const TorchFixKind kind : {TorchFixKind::kAllocator, TorchFixKind::kFreeOthers}) {
    TorchFix fix = outside_of_the_model(list, kind);
    if (asked_for(fix, diagnosis)) fixes.ranked.push_back(std::move(fix));
  }
  Config on_processor = loaded.values;
  on_processor.device = "cpu";
  TorchFix processor = outside_of_the_model(list, TorchFixKind::kOnProcessor);
  processor.changes = changes_to(loaded, on_processor);
  processor.time_ratio = kOnProcessor;
  rank(fixes.ranked, diagnosis);
  fixes.ranked.push_back(std::move(processor));
  if (list.fits_now() || card_bytes == 0) return fixes;
  fixes.recommended = recommend(of_batch, card_bytes);
  fixes.safest = recommend(of_batch, card_bytes / 2);
  if (!fixes.safest) fixes.safest = smallest_split(list);
  if (!fixes.recommended && fixes.safest->fits) fixes.recommended = fixes.safest;
  return fixes;
}

}  // namespace snug
