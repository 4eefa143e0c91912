#include "fit/spare.h"

#include <algorithm>
#include <optional>

#include "config/fields.h"
#include "fit/fix_list.h"
#include "fit/search.h"

namespace snug::fit {
namespace {

// Beyond this many layers nobody trains what Snug is for.
constexpr std::int64_t kMaxLayers = 192;

// The largest of the rising sizes whose plan fits; need grows with the size. min_bytes() may be
// too low by what packing adds, so the last step plans for real.
template <typename ConfigOf>
std::optional<config::Config> largest_fitting(const FixMaker& maker, const Planner& planner,
                                              const std::vector<std::int64_t>& sizes,
                                              const ConfigOf& config_of) {
  auto end = std::partition_point(sizes.begin(), sizes.end(), [&](std::int64_t size) {
    return maker.fits(planner.min_bytes(config_of(size)));
  });
  for (int tries = 0; end != sizes.begin() && tries < 3; ++tries) {
    config::Config config = config_of(*--end);
    if (maker.fits(planner.plan(config)->total_bytes())) return config;
  }
  return std::nullopt;
}

void add_less_recomputing(std::vector<Fix>& uses, const FixMaker& maker, const Planner& planner) {
  const config::Config& now = maker.before();
  std::vector<std::int64_t> spared;  // blocks that are checkpointed no more
  for (std::int64_t n = now.recompute_light ? 0 : 1; n <= now.checkpoint_blocks; ++n) {
    spared.push_back(n);
  }
  const auto sparing = [&](std::int64_t blocks) {
    config::Config next = now;
    next.checkpoint_blocks = now.checkpoint_blocks - blocks;
    next.grad_checkpoint = next.checkpoint_blocks == now.n_layer;
    next.recompute_light = false;
    return next;
  };
  const auto found = largest_fitting(maker, planner, spared, sparing);
  if (found) uses.push_back(maker.make(FixKind::kLessRecomputing, Effect::kSame, *found));
}

config::Config with_batch(const config::Config& now, std::int64_t size, std::int64_t steps) {
  config::Config next = now;
  next.batch_size = size;
  next.gradient_accumulation_steps = steps;
  if (now.eval_batch_size == now.batch_size) next.eval_batch_size = size;
  if (config::effective_batch_of(next) == config::effective_batch_of(now)) {
    next.eval_sequences = config::evaluated_sequences(now);
  } else if (now.effective_batch > 0) {
    next.effective_batch = config::effective_batch_of(next);
  }
  return next;
}

bool is_possible_batch(const config::Config& now, std::int64_t size) {
  return config::field_of(&config::Config::batch_size).limit.allows(static_cast<double>(size)) &&
         size * now.block_size <= config::kMaxTokensPerBatch;
}

void add_larger_batch(std::vector<Fix>& uses, const FixMaker& maker, const Planner& planner) {
  const config::Config& now = maker.before();
  const std::int64_t effective = config::effective_batch_of(now);
  const bool is_whole = now.gradient_accumulation_steps == 1;
  std::vector<std::int64_t> sizes;
  if (is_whole) {
    for (std::int64_t n = 2; is_possible_batch(now, n * now.batch_size); ++n) {
      sizes.push_back(n * now.batch_size);
    }
  } else {
    sizes = divisors(effective);
    std::erase_if(sizes, [&](std::int64_t size) {
      return size <= now.batch_size || !is_possible_batch(now, size);
    });
  }
  const auto found = largest_fitting(maker, planner, sizes, [&](std::int64_t size) {
    return with_batch(now, size, is_whole ? 1 : effective / size);
  });
  const Effect effect = is_whole ? Effect::kMoreSequences : Effect::kSame;
  if (found) uses.push_back(maker.make(FixKind::kLargerBatch, effect, *found));
}

void add_longer_context(std::vector<Fix>& uses, const FixMaker& maker, const Planner& planner) {
  const config::Config& now = maker.before();
  const config::Limit& limit = config::field_of(&config::Config::block_size).limit;
  const std::int64_t rows = std::max(now.batch_size, now.eval_batch_size);
  std::vector<std::int64_t> sizes;
  for (std::int64_t size = 2 * now.block_size;
       limit.allows(static_cast<double>(size)) && size * rows <= config::kMaxTokensPerBatch;
       size *= 2) {
    sizes.push_back(size);
  }
  const auto found = largest_fitting(maker, planner, sizes, [&](std::int64_t size) {
    config::Config next = now;
    next.block_size = size;
    if (now.eval_block_size == now.block_size) next.eval_block_size = size;
    return next;
  });
  if (found) uses.push_back(maker.make(FixKind::kLongerContext, Effect::kLongerContext, *found));
}

void add_more_layers(std::vector<Fix>& uses, const FixMaker& maker, const Planner& planner) {
  const config::Config& now = maker.before();
  const config::Limit& limit = config::field_of(&config::Config::n_layer).limit;
  std::vector<std::int64_t> sizes;
  for (std::int64_t size = now.n_layer + 1;
       size <= kMaxLayers && limit.allows(static_cast<double>(size)); ++size) {
    sizes.push_back(size);
  }
  const bool all = now.checkpoint_blocks == now.n_layer;
  const auto found = largest_fitting(maker, planner, sizes, [&](std::int64_t size) {
    config::Config next = now;
    next.n_layer = size;
    if (all) next.checkpoint_blocks = size;
    return next;
  });
  if (found) uses.push_back(maker.make(FixKind::kMoreLayers, Effect::kLargerModel, *found));
}

}  // namespace

std::vector<Fix> spare_uses(const FixMaker& maker, const Planner& planner) {
  std::vector<Fix> uses;
  add_less_recomputing(uses, maker, planner);
  add_larger_batch(uses, maker, planner);
  if (model_is_given(maker.loaded())) return uses;
  add_longer_context(uses, maker, planner);
  add_more_layers(uses, maker, planner);
  return uses;
}

}  // namespace snug::fit
