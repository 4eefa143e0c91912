#include "fit/fix_list.h"

#include <algorithm>

#include "config/pretrained.h"
#include "program/loss_head.h"

namespace snug::fit {
namespace {

bool from_checkpoint(const config::LoadedConfig& loaded, std::string_view key) {
  const auto origin = loaded.origins.find(key);
  return origin != loaded.origins.end() && origin->second.kind == config::Origin::Kind::kCheckpoint;
}

// A precision that a file, the command line or a checkpoint names stays.
bool may_choose(const config::LoadedConfig& loaded, std::string_view key) {
  const auto origin = loaded.origins.find(key);
  return origin == loaded.origins.end() || origin->second.kind == config::Origin::Kind::kFit;
}

// The 16-bit types that the target's arithmetic has, as far as their time is known.
std::vector<DType> sixteen_bit_dtypes(const Planner& planner) {
  std::vector<DType> dtypes;
  for (const DType dtype : {DType::kBF16, DType::kF16}) {
    const bool has = planner.target().compute_dtype(dtype) == dtype;
    if (has && planner.rates().of<ops::Linear>().seconds_per_flop(dtype) > 0)
      dtypes.push_back(dtype);
  }
  return dtypes;
}

void add_splits(std::vector<Fix>& fixes, const FixMaker& maker, const config::Config& base,
                const Grid& grid) {
  for (auto size = grid.batch_sizes.rbegin(); size != grid.batch_sizes.rend(); ++size) {
    if (*size >= base.batch_size) continue;
    const std::int64_t eval = base.eval_batch_size == base.batch_size ? 0 : base.eval_batch_size;
    fixes.push_back(maker.make(
        FixKind::kSplit, Effect::kSame,
        apply(base, {*size, base.checkpoint_blocks, base.recompute_light, base.loss_chunk, eval})));
  }
}

// The fewest blocks that make it fit, and all.
void add_checkpointing(std::vector<Fix>& fixes, const FixMaker& maker, const Planner& planner,
                       const config::Config& base) {
  const auto with = [&](std::int64_t blocks) {
    config::Config next = base;
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
    (planner.min_bytes(with(middle)) > maker.usable_bytes() ? low : high) = middle;
  }
  const auto add = [&](std::int64_t blocks) {
    fixes.push_back(maker.make(FixKind::kCheckpoint, Effect::kSame, with(blocks)));
  };
  if (high < base.n_layer) add(high);
  add(base.n_layer);
}

void add_smaller_pieces(std::vector<Fix>& fixes, const FixMaker& maker, const Planner& planner,
                        const config::Config& base) {
  config::Config next = base;
  next.recompute_light = !base.recompute_light;
  if (next.recompute_light || maker.fits_now()) {
    fixes.push_back(maker.make(FixKind::kRecomputeLight, Effect::kSame, next));
  }
  next = base;
  next.loss_chunk = program::loss_tile_rows(base.block_size);
  const std::int64_t rows =
      program::loss_chunk_rows(base.batch_size, base.block_size, planner.vocab_size(),
                               base.loss_chunk, planner.compute_dtype(base));
  if (rows > next.loss_chunk) {
    fixes.push_back(maker.make(FixKind::kLossChunk, Effect::kSame, next));
  }
  for (std::int64_t size = base.eval_batch_size / 2; size > 0; size /= 2) {
    next = base;
    next.eval_batch_size = size;
    Fix fix = maker.make(FixKind::kEvalBatch, Effect::kSame, next);
    const bool done = fix.fits || size == 1;
    if (done) fixes.push_back(std::move(fix));
    if (done) break;
  }
  next = base;
  next.eval_block_size = std::max<std::int64_t>(1, base.eval_block_size / 2);
  if (next.eval_block_size < base.eval_block_size) {
    fixes.push_back(maker.make(FixKind::kEvalContext, Effect::kEvaluation, next));
  }
}

void add_rounding(std::vector<Fix>& fixes, const FixMaker& maker, const Planner& planner,
                  const config::Config& base) {
  if (base.optimizer_dtype == "float32" && !from_checkpoint(maker.loaded(), "optimizer_dtype")) {
    config::Config next = base;
    next.optimizer_dtype = "bfloat16";
    fixes.push_back(maker.make(FixKind::kOptimizer16, Effect::kRounding, next));
  }
  if (base.dtype != "float32") return;
  for (const DType dtype : sixteen_bit_dtypes(planner)) {
    config::Config next = base;
    next.dtype = name_of(dtype);
    fixes.push_back(maker.make(FixKind::kDtype16, Effect::kRounding, next));
  }
}

void add_less_training(std::vector<Fix>& fixes, const FixMaker& maker, const Planner& planner,
                       const config::Config& base) {
  if (base.batch_size > 1) {
    config::Config next = base;
    next.batch_size = base.batch_size / 2;
    if (base.eval_batch_size == base.batch_size) next.eval_batch_size = next.batch_size;
    if (base.effective_batch > 0) next.effective_batch = config::effective_batch_of(next);
    fixes.push_back(maker.make(FixKind::kFewerSequences, Effect::kFewerSequences, next));
  }
  if (model_is_given(maker.loaded())) return;
  // Half the context, and the longest that fits.
  for (std::int64_t block = base.block_size / 2; block >= 32; block /= 2) {
    config::Config next = base;
    next.block_size = block;
    next.eval_block_size = std::min(base.eval_block_size, block);
    const bool fits = planner.min_bytes(next) <= maker.usable_bytes();
    if (fits || block == base.block_size / 2) {
      fixes.push_back(maker.make(FixKind::kShorterContext, Effect::kShorterContext, next));
    }
    if (fits) break;
  }
}

// The largest size from 1 to `largest` that fits, else half of what there is. Need grows with the
// size.
template <typename ConfigOf>
void add_smaller_model(std::vector<Fix>& fixes, const FixMaker& maker, const Planner& planner,
                       FixKind kind, std::int64_t largest, const ConfigOf& config_of) {
  if (largest < 1) return;
  std::int64_t low = 1, high = largest + 1;
  while (high - low > 1) {
    const std::int64_t middle = (low + high) / 2;
    (planner.min_bytes(config_of(middle)) > maker.usable_bytes() ? high : low) = middle;
  }
  const bool fits = planner.min_bytes(config_of(low)) <= maker.usable_bytes();
  fixes.push_back(
      maker.make(kind, Effect::kSmallerModel, config_of(fits ? low : (largest + 1) / 2)));
}

void add_smaller_models(std::vector<Fix>& fixes, const FixMaker& maker, const Planner& planner,
                        const config::Config& base) {
  add_smaller_model(fixes, maker, planner, FixKind::kFewerLayers, base.n_layer - 1,
                    [&](std::int64_t layers) {
                      config::Config next = base;
                      next.n_layer = layers;
                      next.checkpoint_blocks = base.checkpoint_blocks == base.n_layer
                                                   ? layers
                                                   : std::min(base.checkpoint_blocks, layers);
                      return next;
                    });
  const std::int64_t head_width = base.n_embd / base.n_head;
  add_smaller_model(fixes, maker, planner, FixKind::kNarrower, base.n_head - 1,
                    [&](std::int64_t heads) {
                      config::Config next = base;
                      next.n_head = heads;
                      next.n_embd = heads * head_width;
                      return next;
                    });
}

}  // namespace

bool model_is_given(const config::LoadedConfig& loaded) {
  return config::is_pretrained(loaded.values.init_from) || from_checkpoint(loaded, "n_layer");
}

void add_smaller_pretrained(std::vector<Fix>& fixes, const FixMaker& maker,
                            const config::Config& base) {
  if (!config::is_pretrained(base.init_from)) return;
  for (const char* const model : {"gpt2-large", "gpt2-medium", "gpt2"}) {
    config::LoadedConfig loaded = maker.loaded();
    loaded.values = base;
    loaded.values.init_from = model;
    config::resolve(loaded);
    config::Config& after = loaded.values;
    if (after.n_embd >= base.n_embd) continue;
    const bool all = base.checkpoint_blocks == base.n_layer;
    after.checkpoint_blocks = all ? after.n_layer : std::min(base.checkpoint_blocks, after.n_layer);
    fixes.push_back(maker.make(FixKind::kSmallerPretrained, Effect::kSmallerModel, after));
  }
}

std::vector<Fix> single_fixes(const FixMaker& maker, const Planner& planner,
                              const config::Config& base, const Grid& grid) {
  std::vector<Fix> fixes;
  add_splits(fixes, maker, base, grid);
  add_checkpointing(fixes, maker, planner, base);
  add_smaller_pieces(fixes, maker, planner, base);
  add_rounding(fixes, maker, planner, base);
  add_less_training(fixes, maker, planner, base);
  if (!model_is_given(maker.loaded())) add_smaller_models(fixes, maker, planner, base);
  add_smaller_pretrained(fixes, maker, base);
  return fixes;
}

std::vector<config::Config> rounded_configs(const Planner& planner,
                                            const config::LoadedConfig& loaded) {
  config::Config config = loaded.values;
  std::vector<config::Config> configs;
  if (config.optimizer_dtype != "bfloat16" && may_choose(loaded, "optimizer_dtype")) {
    config.optimizer_dtype = "bfloat16";
    configs.push_back(config);
  }
  const std::vector<DType> dtypes = sixteen_bit_dtypes(planner);
  if (config.dtype == "float32" && !dtypes.empty() && may_choose(loaded, "dtype")) {
    config.dtype = name_of(dtypes.front());
    configs.push_back(config);
  }
  return configs;
}

}  // namespace snug::fit
