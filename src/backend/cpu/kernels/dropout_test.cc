// Dropout, residual addition and bias gradients: the shared check of kernels, the masks themselves,
// and the derivatives.
#include <limits>

#include "backend/cpu/kernels/fast_kernels.h"
#include "backend/cpu/kernels/kernel_testing.h"
#include "backend/cpu/kernels/reference/kernels.h"
#include "base/philox.h"

namespace snug::cpu::testing {
namespace {

enum class Alias { kNone, kResidual, kBranch };

Values run_residual(const BatchShape& s, const Values& residual, const Values& branch,
                    const Dropout& dropout, const Way& way, Alias alias = Alias::kNone) {
  const Array x(residual, way.offset), y(branch, way.offset);
  const Array fresh(Values(residual.size()), way.offset);
  const Array& out = alias == Alias::kResidual ? x : alias == Alias::kBranch ? y : fresh;
  for_each_call(way, s.B, [&](std::int64_t first, std::int64_t count) {
    const std::int64_t at = first * s.T * s.C;
    const ResidualAdd op{count,
                         s.T,
                         s.C,
                         x.data() + at,
                         y.data() + at,
                         out.data() + at,
                         from_sequence(dropout, first)};
    way.fast ? residual_add_fast(op) : reference::residual_add(op);
  });
  return out.values();
}

Values run_backward(const BatchShape& s, const Values& dout, const Dropout& dropout, const Way& way,
                    bool in_place = false) {
  const Array from(dout, way.offset), fresh(Values(dout.size()), way.offset);
  const Array& to = in_place ? from : fresh;
  for_each_call(way, s.B, [&](std::int64_t first, std::int64_t count) {
    const std::int64_t at = first * s.T * s.C;
    const DropoutBackward op{
        count, s.T, s.C, from.data() + at, to.data() + at, from_sequence(dropout, first)};
    way.fast ? dropout_backward_fast(op) : reference::dropout_backward(op);
  });
  return to.values();
}

Values run_bias(const BatchShape& s, const Values& dy, const Values& before, const Way& way) {
  const Array from(dy, way.offset), dbias(before, way.offset);
  for_each_call(way, s.B, [&](std::int64_t first, std::int64_t count) {
    const BiasBackward op{count, s.T, s.C, from.data() + first * s.T * s.C, dbias.data()};
    way.fast ? bias_backward_fast(op) : reference::bias_backward(op);
  });
  return dbias.values();
}

// One rounding of the product and one of the sum; the reference has one of its own.
std::vector<double> residual_bounds(const Values& residual, const Values& branch, float scale) {
  std::vector<double> bounds;
  for (std::size_t i = 0; i < residual.size(); ++i) {
    bounds.push_back(3 * kRound * (std::abs(residual[i]) + std::abs(branch[i]) * scale));
  }
  return bounds;
}

TEST(ResidualAdd, FastMatchesReferenceAndKeepsItsBits) {
  for (const BatchShape& s : kShapes) {
    const Values x = normal_values(s.B * s.T * s.C, 1), y = normal_values(s.B * s.T * s.C, 2);
    for (const Dropout& dropout : {Dropout{}, quarter_dropout()}) {
      check_kernel(
          s.B, [&](const Way& way) { return run_residual(s, x, y, dropout, way); },
          residual_bounds(x, y, dropout.scale));
      const Way way{true, s.B, 0};
      const Values apart = run_residual(s, x, y, dropout, way);
      for (const Alias alias : {Alias::kResidual, Alias::kBranch}) {
        expect_same_bits(run_residual(s, x, y, dropout, way, alias), apart, "aliased output");
      }
    }
  }
}

// A product of two floats is exact in double: both tables round it once, so there is no tolerance.
TEST(DropoutBackward, FastEqualsReference) {
  for (const BatchShape& s : kShapes) {
    const Values dout = normal_values(s.B * s.T * s.C, 3);
    const std::vector<double> exact(dout.size(), 0.0);
    for (const Dropout& dropout : {Dropout{}, quarter_dropout()}) {
      for (const bool in_place : {false, true}) {
        check_kernel(
            s.B, [&](const Way& way) { return run_backward(s, dout, dropout, way, in_place); },
            exact);
      }
    }
  }
}

// Sums of T rows and B sequences in any order: that many roundings of the magnitudes.
TEST(BiasBackward, FastMatchesReferenceAndKeepsItsBits) {
  for (const BatchShape& s : kShapes) {
    const Values dy = normal_values(s.B * s.T * s.C, 4), before = normal_values(s.C, 5);
    const double rounds = static_cast<double>(s.T + 2 * s.B) * kRound;
    std::vector<double> bounds;
    for (const float value : before) bounds.push_back(rounds * std::abs(value));
    for (std::size_t i = 0; i < dy.size(); ++i) {
      bounds[i % before.size()] += rounds * std::abs(dy[i]);
    }
    check_kernel(
        s.B, [&](const Way& way) { return run_bias(s, dy, before, way); }, bounds);
  }
}

TEST(Dropout, MasksArePhiloxOfSequenceAndElementAndMeetTheRate) {
  const BatchShape s{2, 97, 515};  // (T, C) odd: masks of one sequence end inside a Philox block
  const Dropout dropout = quarter_dropout();
  const Values ones(static_cast<std::size_t>(s.B * s.T * s.C), 1.0f);
  const Values mask = run_backward(s, ones, dropout, {true, s.B, 0});
  std::int64_t kept = 0;
  for (std::int64_t i = 0; i < s.B * s.T * s.C; ++i) {
    const auto element = static_cast<std::uint32_t>(i % (s.T * s.C));
    const auto sequence = dropout.first_sequence + static_cast<std::uint32_t>(i / (s.T * s.C));
    const PhiloxBlock words =
        philox(dropout.seed, {element / 4, dropout.site, sequence, dropout.iteration});
    const bool keep = words[element % 4] >= dropout.threshold;
    ASSERT_EQ(mask[static_cast<std::size_t>(i)], keep ? dropout.scale : 0.0f) << i;
    kept += keep;
  }
  // Binomial: five standard deviations.
  const double count = static_cast<double>(ones.size());
  EXPECT_NEAR(static_cast<double>(kept), 0.75 * count, 5 * std::sqrt(count * 0.75 * 0.25));
}

TEST(Dropout, NanComesThroughEvenWhereDropped) {
  const BatchShape s{1, 5, 13};
  const Values nans(65, std::numeric_limits<float>::quiet_NaN()), zeros(65);
  for_each_target([&] {
    const Way way{true, 1, 0};
    for (const Dropout& dropout : {Dropout{}, quarter_dropout()}) {
      for (const Values& out :
           {run_residual(s, nans, zeros, dropout, way), run_residual(s, zeros, nans, dropout, way),
            run_backward(s, nans, dropout, way)}) {
        for (const float value : out) ASSERT_TRUE(std::isnan(value));
      }
    }
  });
}

TEST(Dropout, GradientsAreTheDerivatives) {
  const BatchShape s{2, 3, 5};
  const Way plain{false, s.B, 0};
  const Values residual = normal_values(30, 6), weights = normal_values(30, 7);
  Values branch = normal_values(30, 8), bias(5);
  const auto loss = [&] {
    Values biased = branch;
    for (std::size_t i = 0; i < biased.size(); ++i) biased[i] += bias[i % 5];
    return weighted_sum(run_residual(s, residual, biased, quarter_dropout(), plain), weights);
  };
  const Values dbranch = run_backward(s, weights, quarter_dropout(), plain);
  for (std::size_t i = 0; i < branch.size(); ++i) {
    EXPECT_NEAR(dbranch[i], numeric_derivative(loss, branch[i]), kDerivativeTolerance) << i;
  }
  const Values dbias = run_bias(s, dbranch, Values(5), plain);
  for (std::size_t i = 0; i < bias.size(); ++i) {
    EXPECT_NEAR(dbias[i], numeric_derivative(loss, bias[i]), kDerivativeTolerance) << i;
  }
}

}  // namespace
}  // namespace snug::cpu::testing
