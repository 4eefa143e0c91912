// The search: among all settings that train the same sequences per update, the fastest that fits a
// budget. Exhaustive over its grid, see decision 0008.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "fit/planner.h"

namespace snug::fit {

// The axes of the grid. Every combination is a point.
struct Grid {
  std::vector<std::int64_t> batch_sizes;        // divisors of the effective batch, rising
  std::vector<std::int64_t> checkpoint_blocks;  // 0 .. n_layer, rising
  std::vector<bool> recompute_light;
  std::vector<std::int64_t> loss_chunks;
  // With none given by the user, evaluation follows batch_size: one entry, 0.
  std::vector<std::int64_t> eval_batch_sizes;  // rising
};

// All settings that keep the result bit for bit: every split of the effective batch that the keys'
// ranges allow, any number of recomputed blocks, light recomputation or none, the loss chunk as it
// is or one tile, evaluation as large as it is or smaller by halves.
Grid full_grid(const config::Config& config, const Planner& planner);

// The config with a point's values; what is evaluated stays what it was, in sequences too.
struct GridPoint {
  std::int64_t batch_size, checkpoint_blocks;
  bool recompute_light;
  std::int64_t loss_chunk, eval_batch_size;
};
config::Config apply(const config::Config& config, const GridPoint& point);

struct Found {
  config::Config config;
  std::int64_t total_bytes;
  double iteration_seconds;
};

// A search over the points of a grid. It keeps what it has learnt about their time from one
// question to the next.
class Search {
 public:
  Search(const Planner& planner, const config::Config& config, const Grid& grid);

  // The fastest by Planner::iteration_seconds whose plan needs at most `budget_bytes`. Of equally
  // fast ones the first in the order: larger batch, fewer checkpointed blocks, larger evaluation.
  std::optional<Found> fastest(std::int64_t budget_bytes);

  // The fewest bytes, and of those the fastest. Always there.
  Found smallest();

 private:
  // A point without its batch size, and the least seconds it takes with any.
  struct Structure {
    std::int64_t checkpoint_blocks;
    bool recompute_light;
    std::int64_t loss_chunk, eval_batch_size;
    double min_seconds = 0;

    GridPoint with(std::int64_t batch_size) const {
      return {batch_size, checkpoint_blocks, recompute_light, loss_chunk, eval_batch_size};
    }
  };
  // Blocks are alike, so each one adds the same, and each recomputed one too: three programs of one
  // or two blocks per batch size, loss chunk and recomputation give the seconds of all.
  struct Line {
    double none, per_block;
  };

  std::vector<Structure> structures() const;
  const Line& line_of(const GridPoint& point);
  double seconds_of(const GridPoint& point);
  std::size_t fitting_count(const Structure& structure, std::int64_t budget_bytes) const;
  std::vector<std::int64_t> by_seconds(const Structure& structure, std::size_t count);

  const Planner& planner_;
  const config::Config& config_;
  const Grid& grid_;
  std::map<std::tuple<std::int64_t, bool, std::int64_t>, Line> lines_;
  std::vector<Structure> structures_;  // by least seconds
};

// Rising.
std::vector<std::int64_t> divisors(std::int64_t number);

}  // namespace snug::fit
