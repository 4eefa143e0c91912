// The search against brute force, and the monotony that it rests on.
#include "fit/search.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "fit/fit_testing.h"

namespace snug::fit {
namespace {

constexpr std::int64_t kVocabSize = 101;

struct Point {
  std::int64_t total_bytes;
  double seconds;
};

// Every point of the grid, planned and timed.
std::vector<Point> all_points(const Planner& planner, const config::Config& config,
                              const Grid& grid) {
  std::vector<Point> points;
  for (const std::int64_t batch : grid.batch_sizes) {
    for (const std::int64_t blocks : grid.checkpoint_blocks) {
      for (const bool light : grid.recompute_light) {
        for (const std::int64_t chunk : grid.loss_chunks) {
          for (const std::int64_t eval : grid.eval_batch_sizes) {
            const config::Config next = apply(config, {batch, blocks, light, chunk, eval});
            points.push_back({planner.plan(next)->total_bytes(), planner.iteration_seconds(next)});
          }
        }
      }
    }
  }
  return points;
}

// Infinite when none fits.
double fewest_seconds(const std::vector<Point>& points, std::int64_t budget_bytes) {
  double fewest = std::numeric_limits<double>::infinity();
  for (const Point& point : points) {
    if (point.total_bytes <= budget_bytes) fewest = std::min(fewest, point.seconds);
  }
  return fewest;
}

struct GridCase {
  const char* name;
  std::vector<std::string> arguments;
};

class SearchGrid : public testing::TestWithParam<GridCase> {};

TEST_P(SearchGrid, FindsWhatBruteForceFinds) {
  const PretendTarget target;
  const Planner planner(target, kVocabSize, pretend_rates());
  const config::LoadedConfig loaded = small_loaded(GetParam().arguments);
  const config::Config& config = loaded.values;
  const Grid grid = full_grid(config, planner);
  Search search(planner, config, grid);
  const std::int64_t smallest = search.smallest().total_bytes;
  EXPECT_FALSE(search.fastest(smallest - 1));
  const std::vector<Point> points = all_points(planner, config, grid);
  EXPECT_TRUE(std::isinf(fewest_seconds(points, smallest - 1)));
  int different = 0;
  double last = 0;
  for (double factor = 1; factor < 40; factor *= 1.17) {
    const auto budget = static_cast<std::int64_t>(factor * static_cast<double>(smallest));
    const auto found = search.fastest(budget);
    const double expected = fewest_seconds(points, budget);
    ASSERT_TRUE(found) << budget;
    EXPECT_LE(found->total_bytes, budget);
    EXPECT_NEAR(found->iteration_seconds, expected, 1e-9 * expected) << budget;
    if (found->iteration_seconds != last) ++different;
    last = found->iteration_seconds;
  }
  EXPECT_GE(different, 4);  // or the budgets would test one setting again and again
}

INSTANTIATE_TEST_SUITE_P(Grids, SearchGrid,
                         testing::Values(GridCase{"as_it_is", {}},
                                         GridCase{"evaluation_of_its_own", {"--eval_batch_size=7"}},
                                         GridCase{"large_evaluation", {"--eval_batch_size=400"}},
                                         GridCase{"small_chunk", {"--loss_chunk=64"}},
                                         GridCase{"prime_batch", {"--batch_size=13"}},
                                         GridCase{"float32", {"--dtype=float32"}},
                                         GridCase{"dropout_and_bias",
                                                  {"--dropout=0.2", "--bias=True"}}),
                         [](const auto& param_info) { return std::string(param_info.param.name); });

// What bisection over the batch rests on.
TEST(SearchRestsOn, NeedThatGrowsWithTheBatch) {
  const PretendTarget target;
  const Planner planner(target, kVocabSize, pretend_rates());
  for (const char* chunk : {"--loss_chunk=0", "--loss_chunk=64", "--loss_chunk=100"}) {
    const config::LoadedConfig loaded = small_loaded({chunk, "--batch_size=360"});
    for (const std::int64_t blocks : {0, 1, 3, 4}) {
      std::int64_t last = 0;
      for (const std::int64_t batch : divisors(720)) {
        const config::Config next =
            apply(loaded.values, {batch, blocks, true, loaded.values.loss_chunk, 0});
        const std::int64_t need = planner.min_bytes(next);
        EXPECT_GE(need, last) << batch;
        EXPECT_LE(need, planner.plan(next)->total_bytes());
        last = need;
      }
    }
  }
}

// A larger batch does the same per token: no op goes through more than its rows.
TEST(SearchRestsOn, TimeThatGrowsWithTheBatchAndNoFaster) {
  const PretendTarget target;
  const Planner planner(target, kVocabSize, pretend_rates());
  const auto seconds_per_sequence = [&](std::int64_t batch) {
    config::Config config =
        small_loaded({"--n_embd=256", "--block_size=512", "--gradient_accumulation_steps=1"})
            .values;
    config.batch_size = config.eval_batch_size = batch;
    return planner.iteration_seconds(config) / static_cast<double>(batch);
  };
  EXPECT_LE(seconds_per_sequence(256), seconds_per_sequence(64));
  EXPECT_LE(seconds_per_sequence(4096), seconds_per_sequence(256));
  EXPECT_GT(seconds_per_sequence(4096), 0.5 * seconds_per_sequence(256));
}

TEST(Search, DivisorsAreAllAndRising) {
  EXPECT_EQ(divisors(1), (std::vector<std::int64_t>{1}));
  EXPECT_EQ(divisors(12), (std::vector<std::int64_t>{1, 2, 3, 4, 6, 12}));
  EXPECT_EQ(divisors(13), (std::vector<std::int64_t>{1, 13}));
  EXPECT_EQ(divisors(480).size(), 24u);
}

TEST(Search, GridStaysWithinTheKeysRanges) {
  const PretendTarget target;
  const Planner planner(target, kVocabSize, pretend_rates());
  // 2^17 micro-batches of 1 are more than gradient_accumulation_steps can be.
  const config::LoadedConfig loaded =
      small_loaded({"--batch_size=16384", "--gradient_accumulation_steps=8"});
  const Grid grid = full_grid(loaded.values, planner);
  EXPECT_EQ(grid.batch_sizes.front(), 2);
  EXPECT_EQ(grid.batch_sizes.back(), 16384);
}

TEST(Search, ApplyingKeepsWhatIsTrainedAndEvaluated) {
  const config::LoadedConfig loaded = small_loaded();
  const config::Config next = apply(loaded.values, {8, 4, false, 64, 0});
  EXPECT_EQ(next.batch_size * next.gradient_accumulation_steps, 24);
  EXPECT_EQ(next.eval_sequences, loaded.values.eval_iters * loaded.values.batch_size);
  EXPECT_EQ(next.eval_batch_size, 8);
  EXPECT_TRUE(next.grad_checkpoint);
  EXPECT_EQ(apply(loaded.values, {12, 0, true, 0, 0}).eval_sequences, 0);
}

}  // namespace
}  // namespace snug::fit
