// GELU: accuracy over the whole range, the shared check of kernels, and the derivative.
#include <limits>
#include <numbers>

#include "backend/cpu/kernels/fast_kernels.h"
#include "backend/cpu/kernels/kernel_testing.h"
#include "backend/cpu/kernels/reference/kernels.h"

namespace snug::cpu::testing {
namespace {

constexpr GeluForm kForms[] = {GeluForm::kErf, GeluForm::kTanh};

double distribution(GeluForm form, double x) {
  if (form == GeluForm::kErf) return 0.5 * std::erfc(-x / std::numbers::sqrt2);
  return 0.5 * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}

// Of Phi and of the derivative, absolute. Measured: 1.6e-7 and 2.6e-7, without FMA 1.8e-7 and
// 3.0e-7.
constexpr double kPhiError = 2e-7, kSlopeError = 3.5e-7;

std::vector<double> forward_bounds(GeluForm form, const Values& x) {
  std::vector<double> bounds;
  for (const double v : x) {
    bounds.push_back(std::abs(v) * (kPhiError + distribution(form, v) * kRound) + kSmallestNormal);
  }
  return bounds;
}

std::vector<double> backward_bounds(const Values& dy) {
  std::vector<double> bounds;
  for (const double v : dy)
    bounds.push_back(std::abs(v) * (kSlopeError + kRound) + kSmallestNormal);
  return bounds;
}

Values run_gelu(GeluForm form, const Values& x, std::int64_t B, const Way& way) {
  const Array in(x, way.offset), out(Values(x.size()), way.offset);
  const std::int64_t length = static_cast<std::int64_t>(x.size()) / B;
  for_each_call(way, B, [&](std::int64_t first, std::int64_t count) {
    const Gelu op{count * length, in.data() + first * length, out.data() + first * length, form};
    way.fast ? gelu_fast(op) : reference::gelu(op);
  });
  return out.values();
}

Values run_gelu_backward(GeluForm form, const Values& x, const Values& dy, std::int64_t B,
                         const Way& way) {
  const Array in(x, way.offset), gradient(dy, way.offset);
  const std::int64_t length = static_cast<std::int64_t>(x.size()) / B;
  for_each_call(way, B, [&](std::int64_t first, std::int64_t count) {
    const GeluBackward op{count * length, in.data() + first * length,
                          gradient.data() + first * length, form};
    way.fast ? gelu_backward_fast(op) : reference::gelu_backward(op);
  });
  return gradient.values();
}

class GeluTest : public ::testing::TestWithParam<GeluForm> {};

TEST_P(GeluTest, FastMatchesReferenceAndKeepsItsBits) {
  const GeluForm form = GetParam();
  for (const auto& [B, T, C] : kShapes) {
    const Values x = normal_values(B * T * C, 1, 3.0f), dy = normal_values(B * T * C, 2);
    check_kernel(
        B, [&](const Way& way) { return run_gelu(form, x, B, way); }, forward_bounds(form, x));
    check_kernel(
        B, [&](const Way& way) { return run_gelu_backward(form, x, dy, B, way); },
        backward_bounds(dy));
  }
}

// Every float from -14 to 14 in steps of 2^-12, and tiny ones.
Values sweep() {
  Values x{0.0f, -0.0f, 1e-38f, -1e-38f, 1e-20f, -1e-20f, 1e-6f, -1e-6f, 100.0f, -100.0f};
  for (int i = -14 * 4096; i <= 14 * 4096; ++i) x.push_back(static_cast<float>(i) / 4096.0f);
  return x;
}

TEST_P(GeluTest, IsAccurateOverTheWholeRange) {
  const GeluForm form = GetParam();
  const Values x = sweep(), ones(x.size(), 1.0f);
  for_each_target([&] {
    const Values y = run_gelu(form, x, 1, {true, 1, 0});
    expect_within(y, run_gelu(form, x, 1, {false, 1, 0}), forward_bounds(form, x));
    const Values slope = run_gelu_backward(form, x, ones, 1, {true, 1, 0});
    expect_within(slope, run_gelu_backward(form, x, ones, 1, {false, 1, 0}), backward_bounds(ones));
    double worst = 0.0;  // of Phi, as gelu(x) / x
    for (std::size_t i = 10; i < x.size(); ++i) {
      if (x[i] == 0.0f) continue;
      const double phi = static_cast<double>(y[i]) / x[i];
      worst = std::max(worst, std::abs(phi - distribution(form, x[i])));
    }
    EXPECT_LE(worst, 2e-7);
  });
}

TEST_P(GeluTest, IsTheIdentityOrZeroFarOut) {
  const GeluForm form = GetParam();
  const float largest = std::numeric_limits<float>::max(),
              inf = std::numeric_limits<float>::infinity();
  const Values x{5.9f, 6.0f, 100.0f, largest, inf, -5.9f, -6.0f, -100.0f, -largest, -inf};
  for_each_target([&] {
    const Values y = run_gelu(form, x, 1, {true, 1, 0});
    const Values slope = run_gelu_backward(form, x, Values(x.size(), 1.0f), 1, {true, 1, 0});
    for (std::size_t i = 0; i < x.size(); ++i) {
      EXPECT_EQ(y[i], x[i] > 0 ? x[i] : 0.0f) << x[i];
      EXPECT_EQ(slope[i], x[i] > 0 ? 1.0f : 0.0f) << x[i];
    }
  });
}

TEST_P(GeluTest, NanComesThrough) {
  const GeluForm form = GetParam();
  Values x = normal_values(37, 3);
  x[5] = x[36] = std::numeric_limits<float>::quiet_NaN();
  for_each_target([&] {
    for (const Values& y : {run_gelu(form, x, 1, {true, 1, 0}),
                            run_gelu_backward(form, x, Values(37, 1.0f), 1, {true, 1, 0})}) {
      for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(std::isnan(y[i]), i == 5 || i == 36);
    }
  });
}

TEST_P(GeluTest, GradientIsTheDerivative) {
  const GeluForm form = GetParam();
  Values x{-4.0f, -1.5f, -0.7518f, -0.1f, 0.0f, 0.3f, 1.0f, 2.5f, 6.0f};
  const Values weights = normal_values(9, 4);
  const Values gradient = run_gelu_backward(form, x, weights, 1, {false, 1, 0});
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto loss = [&] { return weighted_sum(run_gelu(form, x, 1, {false, 1, 0}), weights); };
    EXPECT_NEAR(gradient[i], numeric_derivative(loss, x[i]), kDerivativeTolerance) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, GeluTest, ::testing::ValuesIn(kForms), [](const auto& form) {
  return form.param == GeluForm::kErf ? "erf" : "tanh";
});

// Their formulas, worked out in double elsewhere: the two differ by more than this allows.
TEST(Gelu, FormsAreWhatTheyAreCalled) {
  const Values x{-3.0f, -0.5f, 0.25f, 1.0f, 2.0f};
  const std::vector<double> erf{-0.004049694094890287, -0.15426876936299344, 0.14967658142073093,
                                0.8413447460685429, 1.9544997361036416};
  const std::vector<double> tanh{-0.0036373920817729943, -0.15428599017485606, 0.149675350701685,
                                 0.8411919906082768, 1.954597694087775};
  for (const auto& [form, wanted] : {std::pair{GeluForm::kErf, erf}, {GeluForm::kTanh, tanh}}) {
    const Values found = run_gelu(form, x, 1, {false, 1, 0});
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 1.5e-7) << i;
  }
}

}  // namespace
}  // namespace snug::cpu::testing
