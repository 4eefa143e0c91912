#include "train/initialize.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace snug::train {
namespace {

std::vector<float> draw(std::uint64_t seed, std::int64_t index, std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  const model::ParameterSpec parameter{
      "w", {count}, true, model::ParameterSpec::Init::kNormal, 0.02};
  initialize_parameter(parameter, seed, index, 0, values);
  return values;
}

TEST(Initialize, IsNormalWithTheGivenDeviation) {
  const std::int64_t count = 400001;
  double sum = 0, squares = 0, beyond = 0;
  for (const float value : draw(1337, 3, count)) {
    sum += value;
    squares += static_cast<double>(value) * value;
    beyond += std::abs(value) > 2 * 0.02;
  }
  const auto n = static_cast<double>(count);
  // Five standard errors of the mean, the variance and the tail's share.
  EXPECT_NEAR(sum / n, 0, 5 * 0.02 / std::sqrt(n));
  EXPECT_NEAR(squares / n, 0.0004, 5 * 0.0004 * std::sqrt(2 / n));
  EXPECT_NEAR(beyond / n, 0.0455, 5 * std::sqrt(0.0455 / n));
}

TEST(Initialize, DependsOnSeedAndParameterAlone) {
  EXPECT_EQ(draw(1, 0, 1001), draw(1, 0, 1001));
  EXPECT_NE(draw(1, 0, 1001), draw(2, 0, 1001));
  EXPECT_NE(draw(1, 0, 1001), draw(1, 1, 1001));
  const std::vector<float> longer = draw(1, 0, 1001), shorter = draw(1, 0, 998);
  EXPECT_TRUE(std::equal(shorter.begin(), shorter.end(), longer.begin()));
}

}  // namespace
}  // namespace snug::train
