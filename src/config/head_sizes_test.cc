#include "config/head_sizes.h"

#include <gtest/gtest.h>

namespace snug::config {
namespace {

TEST(HeadSizes, DivisorsNearTheWish) {
  EXPECT_EQ(nearest_divisor(512, 12), 8);
  EXPECT_EQ(nearest_divisor(448, 12), 14);
  EXPECT_EQ(nearest_divisor(768, 7), 6);
  EXPECT_EQ(nearest_divisor(7, 3), 1);
}

TEST(HeadSizes, WidthsWithAUsualHead) {
  EXPECT_EQ(nearest_width(512, 12), 480);
  EXPECT_EQ(nearest_width(560, 12), 576);
  EXPECT_EQ(nearest_width(768, 7), 784);
  EXPECT_EQ(nearest_width(1000, 16), 1024);
}

TEST(HeadSizes, ASmallModelKeepsItsSize) {
  EXPECT_EQ(nearest_width(5, 12), 12);
  EXPECT_EQ(nearest_width(50, 12), 48);
}

}  // namespace
}  // namespace snug::config
