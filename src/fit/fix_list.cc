#include "fit/fix_list.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "program/loss_head.h"

namespace snug {
namespace {

std::int64_t effective_batch(const Config& config) {
  return config.batch_size * config.gradient_accumulation_steps;
}

double seconds_per_token(const Config& config, double iteration_seconds) {
  return iteration_seconds / static_cast<double>(effective_batch(config) * config.block_size);
}

bool from_checkpoint(const LoadedConfig& loaded, std::string_view key) {
  const auto origin = loaded.origins.find(key);
  return origin != loaded.origins.end() && origin->second.kind == Origin::Kind::kCheckpoint;
}

// A precision that a file, the command line or a checkpoint names stays.
bool may_choose(const LoadedConfig& loaded, std::string_view key) {
  const auto origin = loaded.origins.find(key);
  return origin == loaded.origins.end() || origin->second.kind == Origin::Kind::kFit;
}

// The model is what a checkpoint or a published one made it.
bool model_is_given(const LoadedConfig& loaded) {
  return loaded.values.init_from.starts_with("gpt2") || from_checkpoint(loaded, "n_layer");
}

// The 16-bit types that the target's arithmetic has.
std::vector<DType> sixteen_bit_dtypes(const Target& target) {
  std::vector<DType> dtypes;
  for (const DType dtype : {DType::kBF16, DType::kF16}) {
    if (target.compute_dtype(dtype) == dtype) dtypes.push_back(dtype);
  }
  return dtypes;
}

std::string checkpoint_text(const Config& config) {
  if (config.checkpoint_blocks == 0) return "no checkpointing";
  if (config.checkpoint_blocks == config.n_layer) return "checkpoint all blocks";
  return fmt::format("checkpoint {} of {} blocks", config.checkpoint_blocks, config.n_layer);
}

// "batch 8, accumulate 64, checkpoint 9 of 12 blocks"
std::string name_of_changes(const Config& before, const Config& after) {
  std::vector<std::string> parts;
  if (before.batch_size != after.batch_size) {
    parts.push_back(fmt::format("batch {}, accumulate {}", after.batch_size,
                                after.gradient_accumulation_steps));
  }
  if (before.checkpoint_blocks != after.checkpoint_blocks) parts.push_back(checkpoint_text(after));
  if (before.recompute_light != after.recompute_light) {
    parts.push_back(after.recompute_light ? "recompute light" : "recompute nothing");
  }
  if (before.loss_chunk != after.loss_chunk) {
    parts.push_back(fmt::format("loss chunk {}", after.loss_chunk));
  }
  const bool evaluation_follows =
      before.eval_batch_size == before.batch_size && after.eval_batch_size == after.batch_size;
  if (before.eval_batch_size != after.eval_batch_size && !evaluation_follows) {
    parts.push_back(fmt::format("evaluate {} at once", after.eval_batch_size));
  }
  if (before.optimizer_dtype != after.optimizer_dtype) {
    parts.push_back(fmt::format("optimizer state {}", after.optimizer_dtype));
  }
  if (before.dtype != after.dtype) parts.push_back(fmt::format("dtype {}", after.dtype));
  return fmt::format("{}", fmt::join(parts, ", "));
}

void add_splits(std::vector<Fix>& fixes, const FixMaker& maker, const Config& base,
                const Grid& grid) {
  for (auto size = grid.batch_sizes.rbegin(); size != grid.batch_sizes.rend(); ++size) {
    if (*size >= base.batch_size) continue;
    const std::int64_t eval = base.eval_batch_size == base.batch_size ? 0 : base.eval_batch_size;
    fixes.push_back(maker.make(
        apply(base, {*size, base.checkpoint_blocks, base.recompute_light, base.loss_chunk, eval}),
        Effect::kSame));
  }
}

// The fewest blocks that make it fit, and all.
void add_checkpointing(std::vector<Fix>& fixes, const FixMaker& maker, const Planner& planner,
                       const Config& base) {
  const auto with = [&](std::int64_t blocks) {
    Config next = base;
    next.checkpoint_blocks = blocks;
    next.grad_checkpoint = blocks == base.n_layer;
    return next;
  };
  if (base.checkpoint_blocks == base.n_layer) return;
  // Need falls with every block, but for the working set of the last one: bisection may miss the
  // fewest by one, never a fit.
  std::int64_t low = base.checkpoint_blocks, high = base.n_layer;
  while (high - low > 1) {
    const std::int64_t middle = (low + high) / 2;
    (planner.least_bytes(with(middle)) > maker.usable_bytes() ? low : high) = middle;
  }
  if (high < base.n_layer) fixes.push_back(maker.make(with(high), Effect::kSame));
  fixes.push_back(maker.make(with(base.n_layer), Effect::kSame));
}

void add_smaller_pieces(std::vector<Fix>& fixes, const FixMaker& maker, const Planner& planner,
                        const Config& base) {
  Config next = base;
  next.recompute_light = !base.recompute_light;
  if (next.recompute_light || maker.total_bytes() <= maker.usable_bytes()) {
    fixes.push_back(maker.make(next, Effect::kSame));
  }
  next = base;
  next.loss_chunk = loss_tile_rows(base.block_size);
  const std::int64_t rows = loss_chunk_rows(base.batch_size, base.block_size, planner.vocab_size(),
                                            base.loss_chunk, planner.compute_dtype(base));
  if (rows > next.loss_chunk) fixes.push_back(maker.make(next, Effect::kSame));
  for (std::int64_t size = base.eval_batch_size / 2; size > 0; size /= 2) {
    next = base;
    next.eval_batch_size = size;
    Fix fix = maker.make(next, Effect::kSame, fmt::format("evaluate {} at once", size));
    const bool done = fix.fits || size == 1;
    if (done) fixes.push_back(std::move(fix));
    if (done) break;
  }
  next = base;
  next.eval_block_size = std::max<std::int64_t>(1, base.eval_block_size / 2);
  if (next.eval_block_size < base.eval_block_size) {
    fixes.push_back(maker.make(next, Effect::kEvaluation,
                               fmt::format("evaluate {} tokens long", next.eval_block_size)));
  }
}

void add_rounding(std::vector<Fix>& fixes, const FixMaker& maker, const Planner& planner,
                  const Config& base) {
  if (base.optimizer_dtype == "float32" && !from_checkpoint(maker.loaded(), "optimizer_dtype")) {
    Config next = base;
    next.optimizer_dtype = "bfloat16";
    fixes.push_back(maker.make(next, Effect::kRounding, "optimizer state bfloat16"));
  }
  if (base.dtype != "float32") return;
  for (const DType dtype : sixteen_bit_dtypes(planner.target())) {
    Config next = base;
    next.dtype = name_of(dtype);
    fixes.push_back(maker.make(next, Effect::kRounding, fmt::format("dtype {}", next.dtype)));
  }
}

void add_less_training(std::vector<Fix>& fixes, const FixMaker& maker, const Planner& planner,
                       const Config& base) {
  if (base.batch_size > 1) {
    Config next = base;
    next.batch_size = base.batch_size / 2;
    if (base.eval_batch_size == base.batch_size) next.eval_batch_size = next.batch_size;
    if (base.effective_batch > 0) next.effective_batch = effective_batch(next);
    fixes.push_back(maker.make(
        next, Effect::kFewerSequences,
        fmt::format("batch {}, accumulate {}", next.batch_size, next.gradient_accumulation_steps)));
  }
  if (model_is_given(maker.loaded())) return;
  // Half the context, and the longest that fits.
  for (std::int64_t block = base.block_size / 2; block >= 32; block /= 2) {
    Config next = base;
    next.block_size = block;
    next.eval_block_size = std::min(base.eval_block_size, block);
    const bool fits = planner.least_bytes(next) <= maker.usable_bytes();
    if (fits || block == base.block_size / 2) {
      fixes.push_back(
          maker.make(next, Effect::kShorterContext, fmt::format("block_size {}", block)));
    }
    if (fits) break;
  }
}

// The largest size from 1 to `largest` that fits, else half of what there is. Need grows with the
// size.
template <typename ConfigOf>
void add_smaller_model(std::vector<Fix>& fixes, const FixMaker& maker, const Planner& planner,
                       std::int64_t largest, const ConfigOf& config_of) {
  if (largest < 1) return;
  std::int64_t low = 1, high = largest + 1;
  while (high - low > 1) {
    const std::int64_t middle = (low + high) / 2;
    (planner.least_bytes(config_of(middle)) > maker.usable_bytes() ? high : low) = middle;
  }
  const bool fits = planner.least_bytes(config_of(low)) <= maker.usable_bytes();
  const Config next = config_of(fits ? low : (largest + 1) / 2);
  Fix fix = maker.make(next, Effect::kSmallerModel,
                       next.n_layer != maker.before().n_layer
                           ? fmt::format("n_layer {}", next.n_layer)
                           : fmt::format("n_embd {}, n_head {}", next.n_embd, next.n_head));
  fix.name += fmt::format(": {}", millions(planner.reported_parameters(next)));
  fixes.push_back(std::move(fix));
}

void add_smaller_models(std::vector<Fix>& fixes, const FixMaker& maker, const Planner& planner,
                        const Config& base) {
  add_smaller_model(fixes, maker, planner, base.n_layer - 1, [&](std::int64_t layers) {
    Config next = base;
    next.n_layer = layers;
    next.checkpoint_blocks =
        base.checkpoint_blocks == base.n_layer ? layers : std::min(base.checkpoint_blocks, layers);
    return next;
  });
  const std::int64_t head_width = base.n_embd / base.n_head;
  add_smaller_model(fixes, maker, planner, base.n_head - 1, [&](std::int64_t heads) {
    Config next = base;
    next.n_head = heads;
    next.n_embd = heads * head_width;
    return next;
  });
}

}  // namespace

FixMaker::FixMaker(const Planner& planner, const LoadedConfig& loaded, const Budget& budget)
    : planner_(planner), loaded_(loaded), budget_(budget) {
  const auto run = planner.plan(loaded.values);
  total_bytes_ = run->total_bytes();
  seconds_ = iteration_seconds(*run, loaded.values, planner.rates());
}

Fix FixMaker::make(const Config& config, Effect effect, std::string name) const {
  const auto run = planner_.plan(config);
  const double seconds = iteration_seconds(*run, config, planner_.rates());
  const double now = seconds_per_token(before(), seconds_);
  Fix fix;
  fix.effect = effect;
  fix.config = config;
  fix.changes = changes_to(loaded_, config);
  fix.name = name.empty() ? name_of_changes(before(), config) : std::move(name);
  if (fix.name.empty()) {
    for (const Change& change : fix.changes) {
      fix.name += fmt::format("{}{} {}", fix.name.empty() ? "" : ", ", change.key, change.after);
    }
  }
  fix.effective_batch = effective_batch(config);
  fix.total_bytes = run->total_bytes();
  fix.saved_bytes = total_bytes_ - fix.total_bytes;
  fix.time_ratio = now > 0 ? seconds_per_token(config, seconds) / now : 1;
  fix.parameters = run->model.parameter_count();
  fix.fits = fix.total_bytes <= budget_.usable_bytes;
  return fix;
}

std::vector<Fix> single_fixes(const FixMaker& maker, const Planner& planner, const Config& base,
                              const Grid& grid) {
  std::vector<Fix> fixes;
  add_splits(fixes, maker, base, grid);
  add_checkpointing(fixes, maker, planner, base);
  add_smaller_pieces(fixes, maker, planner, base);
  add_rounding(fixes, maker, planner, base);
  add_less_training(fixes, maker, planner, base);
  if (!model_is_given(maker.loaded())) add_smaller_models(fixes, maker, planner, base);
  return fixes;
}

std::vector<Config> rounded_configs(const Planner& planner, const LoadedConfig& loaded) {
  Config config = loaded.values;
  std::vector<Config> configs;
  if (config.optimizer_dtype != "bfloat16" && may_choose(loaded, "optimizer_dtype")) {
    config.optimizer_dtype = "bfloat16";
    configs.push_back(config);
  }
  const std::vector<DType> dtypes = sixteen_bit_dtypes(planner.target());
  if (config.dtype == "float32" && !dtypes.empty() && may_choose(loaded, "dtype")) {
    config.dtype = name_of(dtypes.front());
    configs.push_back(config);
  }
  return configs;
}

}  // namespace snug
