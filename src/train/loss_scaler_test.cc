#include "train/loss_scaler.h"

#include <gtest/gtest.h>

namespace snug::train {
namespace {

TEST(LossScaler, StartsAndMovesAsGradScaler) {
  checkpoint::LossScale scale;
  EXPECT_EQ(scale.factor, 65536);
  for (int i = 0; i < 1999; ++i) adapt_loss_scale(scale, true);
  EXPECT_EQ(scale.factor, 65536);
  EXPECT_EQ(scale.good_updates, 1999);
  adapt_loss_scale(scale, true);
  EXPECT_EQ(scale.factor, 131072);
  EXPECT_EQ(scale.good_updates, 0);
  adapt_loss_scale(scale, false);
  adapt_loss_scale(scale, false);
  EXPECT_EQ(scale.factor, 32768);
  EXPECT_EQ(scale.skipped_updates, 2);
}

TEST(LossScaler, AnOverflowStartsTheCountAnew) {
  checkpoint::LossScale scale;
  for (int i = 0; i < 1999; ++i) adapt_loss_scale(scale, true);
  adapt_loss_scale(scale, false);
  for (int i = 0; i < 1999; ++i) adapt_loss_scale(scale, true);
  EXPECT_EQ(scale.factor, 32768);
  adapt_loss_scale(scale, true);
  EXPECT_EQ(scale.factor, 65536);
}

TEST(LossScaler, NeverGrowsToInfinity) {
  checkpoint::LossScale scale;
  scale.factor = 0x1p127;
  for (int i = 0; i < 2000; ++i) adapt_loss_scale(scale, true);
  EXPECT_EQ(scale.factor, 0x1p127);
  EXPECT_EQ(scale.good_updates, 0);
}

}  // namespace
}  // namespace snug::train
