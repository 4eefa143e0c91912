// Cross-entropy: the shared check of kernels, ignored targets, NaN, extremes and the derivative.
#include <limits>

#include "backend/cpu/kernels/fast_kernels.h"
#include "backend/cpu/kernels/kernel_testing.h"
#include "backend/cpu/kernels/reference/kernels.h"

namespace snug::cpu::testing {
namespace {

constexpr float kEndless = std::numeric_limits<float>::infinity();

struct EntropyCase {
  std::int64_t rows, V;
  Values logits;
  std::vector<std::int32_t> targets;

  EntropyCase(std::int64_t row_count, std::int64_t vocabulary, float sigma)
      : rows(row_count), V(vocabulary), logits(normal_values(row_count * vocabulary, 1, sigma)) {
    for (std::int64_t r = 0; r < rows; ++r) {
      targets.push_back(static_cast<std::int32_t>((r * 7919 + V - 1) % V));
    }
  }
};

// Losses, then the gradient (or the untouched logits).
Values run_loss(const EntropyCase& c, const Way& way, bool want_gradient = true) {
  const Array logits(c.logits, way.offset), losses(Values(c.targets.size()), way.offset);
  for_each_call(way, c.rows, [&](std::int64_t first, std::int64_t count) {
    const CrossEntropy op{count,
                          c.V,
                          c.targets.data() + first,
                          logits.data() + first * c.V,
                          losses.data() + first,
                          want_gradient};
    way.fast ? cross_entropy_fast(op) : reference::cross_entropy(op);
  });
  return joined({losses.values(), logits.values()});
}

// exp(x - max) errs by 4 roundings of itself and by one of x - max, carried into the exponent;
// a block of at most 1024 such terms, summed in float, by that many roundings. The loss gets the
// relative error of the sum; a probability its own as well.
std::vector<double> loss_bounds(const EntropyCase& c) {
  std::vector<double> losses, gradients;
  for (std::int64_t r = 0; r < c.rows; ++r) {
    const float* row = c.logits.data() + r * c.V;
    const double max = *std::max_element(row, row + c.V);
    double sum = 0.0, weighted_shift = 0.0;
    for (std::int64_t v = 0; v < c.V; ++v) {
      sum += std::exp(row[v] - max);
      weighted_shift += std::exp(row[v] - max) * (max - row[v]);
    }
    const double terms = static_cast<double>(std::min<std::int64_t>(c.V, 1024) + 4);
    const double sum_error = (terms + weighted_shift / sum) * kRound;
    const std::int64_t target = c.targets[static_cast<std::size_t>(r)];
    losses.push_back(sum_error + 2 * kRound * std::abs(std::log(sum) + max - row[target]));
    for (std::int64_t v = 0; v < c.V; ++v) {
      const double p = std::exp(row[v] - max) / sum;
      const double error = p * (sum_error + (7 + max - row[v]) * kRound);
      gradients.push_back(error + (v == target ? 2 * kRound : 2 * kSmallestNormal));
    }
  }
  losses.insert(losses.end(), gradients.begin(), gradients.end());
  return losses;
}

TEST(CrossEntropy, FastMatchesReferenceAndKeepsItsBits) {
  for (const std::int64_t V : {1, 2, 17, 65, 1000, 50257}) {
    for (const float sigma : {1.0f, 30.0f}) {  // near uniform; nearly all in one word
      const EntropyCase c(V > 1000 ? 3 : 37, V, sigma);
      check_kernel(
          c.rows, [&](const Way& way) { return run_loss(c, way); }, loss_bounds(c));
    }
  }
}

TEST(CrossEntropy, EvaluationGivesTheSameLossAndLeavesTheLogits) {
  const EntropyCase c(5, 1033, 2.0f);
  for_each_target([&] {
    const Values training = run_loss(c, {true, 5, 0}),
                 evaluation = run_loss(c, {true, 5, 0}, false);
    expect_same_bits(Values(evaluation.begin(), evaluation.begin() + 5),
                     Values(training.begin(), training.begin() + 5), "loss");
    expect_same_bits(Values(evaluation.begin() + 5, evaluation.end()), c.logits, "logits");
  });
}

TEST(CrossEntropy, IgnoredTargetGivesZeroLossAndGradient) {
  EntropyCase c(3, 21, 1.0f);
  c.targets[1] = -1;
  c.logits[21] = std::numeric_limits<float>::quiet_NaN();
  const auto check = [&](bool fast) {
    const Values out = run_loss(c, {fast, 3, 0});
    EXPECT_EQ(out[1], 0.0f);
    for (std::size_t i = 3 + 21; i < 3 + 42; ++i) EXPECT_EQ(out[i], 0.0f);
    EXPECT_GT(out[0], 0.0f);
    EXPECT_GT(out[2], 0.0f);
    EXPECT_EQ(run_loss(c, {fast, 3, 0}, false)[1], 0.0f);
  };
  check(false);
  for_each_target([&] { check(true); });
}

TEST(CrossEntropy, NanAnywhereGivesNanLoss) {
  for (const bool want_gradient : {false, true}) {
    for (std::size_t place = 0; place < 71; ++place) {
      EntropyCase c(1, 71, 1.0f);
      c.logits[place] = std::numeric_limits<float>::quiet_NaN();
      EXPECT_TRUE(std::isnan(run_loss(c, {false, 1, 0}, want_gradient)[0])) << place;
      for_each_target([&] {
        EXPECT_TRUE(std::isnan(run_loss(c, {true, 1, 0}, want_gradient)[0])) << place;
      });
    }
  }
}

TEST(CrossEntropy, BearsExtremes) {
  EntropyCase c(2, 40, 1.0f);
  c.targets = {0, 0};
  for (std::size_t i = 0; i < 40; ++i) c.logits[i] = i == 0 ? 1e30f : -1e30f;
  for (std::size_t i = 40; i < 80; ++i) c.logits[i] = i < 42 ? 0.0f : -kEndless;
  for_each_target([&] {
    const Values out = run_loss(c, {true, 2, 0});
    EXPECT_EQ(out[0], 0.0f);
    EXPECT_NEAR(out[1], std::log(2.0), 2 * kRound);
    for (std::size_t i = 2; i < out.size(); ++i) ASSERT_TRUE(std::isfinite(out[i])) << i;
  });
}

TEST(CrossEntropy, GradientIsTheDerivative) {
  EntropyCase c(3, 7, 1.0f);
  c.targets[2] = -1;
  const Way plain{false, 3, 0};
  const Values gradient = run_loss(c, plain);
  const auto loss = [&] {
    const Values out = run_loss(c, plain, false);
    return static_cast<double>(out[0]) + out[1] + out[2];
  };
  for (std::size_t i = 0; i < c.logits.size(); ++i) {
    const double expected = numeric_derivative(loss, c.logits[i]);
    EXPECT_NEAR(gradient[3 + i], expected, kDerivativeTolerance) << i;
  }
}

}  // namespace
}  // namespace snug::cpu::testing
