#include "train/schedule.h"

#include <gtest/gtest.h>

namespace snug::train {
namespace {

TEST(Schedule, FollowsNanoGpt) {
  config::Config config;  // 6e-4 to 6e-5, warm-up 2000, decay to 600000
  EXPECT_DOUBLE_EQ(learning_rate_at(config, 0), 6e-4 / 2001);
  EXPECT_DOUBLE_EQ(learning_rate_at(config, 1999), 6e-4 * 2000 / 2001);
  EXPECT_DOUBLE_EQ(learning_rate_at(config, 2000), 6e-4);
  EXPECT_NEAR(learning_rate_at(config, 301000), (6e-4 + 6e-5) / 2, 1e-15);
  EXPECT_DOUBLE_EQ(learning_rate_at(config, 600000), 6e-5);
  EXPECT_DOUBLE_EQ(learning_rate_at(config, 600001), 6e-5);
  config.decay_lr = false;
  EXPECT_DOUBLE_EQ(learning_rate_at(config, 5), 6e-4);
}

TEST(Schedule, SurvivesADecayOfNoLength) {
  config::Config config;
  config.warmup_iters = config.lr_decay_iters = 100;
  EXPECT_DOUBLE_EQ(learning_rate_at(config, 100), config.min_lr);
}

}  // namespace
}  // namespace snug::train
