#include "fit/search.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/integers.h"
#include "config/fields.h"
#include "program/loss_head.h"

namespace snug::fit {
namespace {

// How many numbers of recomputed blocks are in the grid: every one up to GPT-2 XL's depth, a dozen
// beyond it, where a plan takes long and one block is a small part of the model.
constexpr std::int64_t kDeepestWithEveryCount = 48, kCountsBeyond = 12;

// `size` and its halves down to 1, rising.
std::vector<std::int64_t> halves_of(std::int64_t size) {
  std::vector<std::int64_t> sizes;
  for (; size > 0; size /= 2) sizes.insert(sizes.begin(), size);
  return sizes;
}

}  // namespace

std::vector<std::int64_t> divisors(std::int64_t number) {
  std::vector<std::int64_t> low, high;
  for (std::int64_t d = 1; d * d <= number; ++d) {
    if (number % d != 0) continue;
    low.push_back(d);
    if (d != number / d) high.push_back(number / d);
  }
  low.insert(low.end(), high.rbegin(), high.rend());
  return low;
}

Grid full_grid(const config::Config& config, const Planner& planner) {
  Grid grid;
  grid.eval_batch_sizes = {0};
  if (config.eval_batch_size != config.batch_size || config.eval_only) {
    grid.eval_batch_sizes = halves_of(config.eval_batch_size);
  }
  if (config.eval_only) {
    grid.batch_sizes = {config.batch_size};
    grid.checkpoint_blocks = {config.checkpoint_blocks};
    grid.recompute_light = {config.recompute_light};
    grid.loss_chunks = {config.loss_chunk};
    return grid;
  }
  const std::int64_t effective = config::effective_batch_of(config);
  const config::Limit& batch = config::field_of(&config::Config::batch_size).limit;
  const config::Limit& steps = config::field_of(&config::Config::gradient_accumulation_steps).limit;
  for (const std::int64_t size : divisors(effective)) {
    const bool allowed = batch.allows(static_cast<double>(size)) &&
                         steps.allows(static_cast<double>(effective / size)) &&
                         size * config.block_size <= config::kMaxTokensPerBatch;
    if (allowed) grid.batch_sizes.push_back(size);
  }
  const std::int64_t step =
      config.n_layer <= kDeepestWithEveryCount ? 1 : ceil_div(config.n_layer, kCountsBeyond);
  for (std::int64_t n = 0; n < config.n_layer; n += step) grid.checkpoint_blocks.push_back(n);
  grid.checkpoint_blocks.push_back(config.n_layer);
  grid.recompute_light = {false, true};
  grid.loss_chunks = {config.loss_chunk};
  const std::int64_t tile = program::loss_tile_rows(config.block_size);
  const std::int64_t rows =
      program::loss_chunk_rows(grid.batch_sizes.back(), config.block_size, planner.vocab_size(),
                               config.loss_chunk, planner.compute_dtype(config));
  if (rows > tile) grid.loss_chunks.push_back(tile);
  return grid;
}

config::Config apply(const config::Config& config, const GridPoint& point) {
  config::Config next = config;
  if (point.batch_size != config.batch_size) {
    next.eval_sequences = config::evaluated_sequences(config);
    next.batch_size = point.batch_size;
    next.gradient_accumulation_steps = config::effective_batch_of(config) / point.batch_size;
  }
  if (point.checkpoint_blocks != config.checkpoint_blocks) {
    next.checkpoint_blocks = point.checkpoint_blocks;
    next.grad_checkpoint = point.checkpoint_blocks == config.n_layer;
  }
  next.recompute_light = point.recompute_light;
  next.loss_chunk = point.loss_chunk;
  next.eval_batch_size = point.eval_batch_size > 0 ? point.eval_batch_size : point.batch_size;
  return next;
}

Search::Search(const Planner& planner, const config::Config& config, const Grid& grid)
    : planner_(planner), config_(config), grid_(grid), structures_(structures()) {
  for (Structure& s : structures_) {
    s.min_seconds = std::numeric_limits<double>::infinity();
    for (const std::int64_t batch : grid.batch_sizes) {
      s.min_seconds = std::min(s.min_seconds, seconds_of(s.with(batch)));
    }
  }
  std::stable_sort(structures_.begin(), structures_.end(),
                   [](const auto& a, const auto& b) { return a.min_seconds < b.min_seconds; });
}

std::vector<Search::Structure> Search::structures() const {
  std::vector<Structure> all;
  for (const std::int64_t blocks : grid_.checkpoint_blocks) {
    for (const bool light : grid_.recompute_light) {
      for (const std::int64_t chunk : grid_.loss_chunks) {
        for (auto eval = grid_.eval_batch_sizes.rbegin(); eval != grid_.eval_batch_sizes.rend();
             ++eval) {
          all.push_back({blocks, light, chunk, *eval});
        }
      }
    }
  }
  return all;
}

const Search::Line& Search::line_of(const GridPoint& point) {
  const std::tuple key{point.batch_size, point.recompute_light, point.loss_chunk};
  const auto found = lines_.find(key);
  if (found != lines_.end()) return found->second;
  const auto seconds = [&](std::int64_t layers, std::int64_t checkpointed) {
    config::Config small = apply(config_, point);
    small.n_layer = layers;
    small.checkpoint_blocks = checkpointed;
    return planner_.iteration_seconds(small);
  };
  const double one = seconds(1, 0);
  const double layer = seconds(2, 0) - one;
  const Line line{one + static_cast<double>(config_.n_layer - 1) * layer, seconds(1, 1) - one};
  return lines_.emplace(key, line).first->second;
}

double Search::seconds_of(const GridPoint& point) {
  const Line& line = line_of(point);
  return line.none + static_cast<double>(point.checkpoint_blocks) * line.per_block;
}

// How many of the batch sizes fit, the smallest ones; by bisection, because need grows with the
// batch.
std::size_t Search::fitting_count(const Structure& structure, std::int64_t budget_bytes) const {
  const auto fits = [&](std::int64_t batch) {
    return planner_.min_bytes(apply(config_, structure.with(batch))) <= budget_bytes;
  };
  if (!fits(grid_.batch_sizes.front())) return 0;
  const auto end =
      std::partition_point(grid_.batch_sizes.begin() + 1, grid_.batch_sizes.end(), fits);
  return static_cast<std::size_t>(end - grid_.batch_sizes.begin());
}

// The `count` smallest batch sizes from the fastest to the slowest, the larger of two equally fast
// first.
std::vector<std::int64_t> Search::by_seconds(const Structure& structure, std::size_t count) {
  std::vector<std::int64_t> sizes(grid_.batch_sizes.rend() - static_cast<std::ptrdiff_t>(count),
                                  grid_.batch_sizes.rend());
  std::stable_sort(sizes.begin(), sizes.end(), [&](std::int64_t a, std::int64_t b) {
    return seconds_of(structure.with(a)) < seconds_of(structure.with(b));
  });
  return sizes;
}

std::optional<Found> Search::fastest(std::int64_t budget_bytes) {
  std::optional<Found> best;
  for (const Structure& s : structures_) {
    if (best && s.min_seconds >= best->iteration_seconds) break;
    const std::size_t count = fitting_count(s, budget_bytes);
    for (const std::int64_t batch : by_seconds(s, count)) {
      const double taken = seconds_of(s.with(batch));
      if (best && taken >= best->iteration_seconds) break;
      config::Config next = apply(config_, s.with(batch));
      const std::int64_t total = planner_.plan(next)->total_bytes();
      if (total > budget_bytes) continue;  // packing left gaps
      best = Found{std::move(next), total, taken};
      break;
    }
  }
  return best;
}

Found Search::smallest() {
  // By the fewest bytes that each could need, rising: once a plan is smaller than the next of
  // these, no later one can win.
  std::vector<std::pair<std::int64_t, GridPoint>> candidates;
  for (const Structure& s : structures_) {
    const GridPoint point = s.with(grid_.batch_sizes.front());
    candidates.emplace_back(planner_.min_bytes(apply(config_, point)), point);
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::optional<Found> smallest;
  for (const auto& [lower_bound, point] : candidates) {
    if (smallest && lower_bound >= smallest->total_bytes) break;
    config::Config next = apply(config_, point);
    const std::int64_t total = planner_.plan(next)->total_bytes();
    if (smallest && total >= smallest->total_bytes) continue;
    smallest = Found{std::move(next), total, seconds_of(point)};
  }
  auto found = fastest(smallest->total_bytes);
  return found ? *found : *smallest;
}

}  // namespace snug::fit
