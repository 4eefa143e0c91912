// AdamW against the reference and against a step worked out by hand; the sum of squares.
#include <limits>

#include "backend/cpu/kernels/fast_kernels.h"
#include "backend/cpu/kernels/kernel_testing.h"
#include "backend/cpu/kernels/reference/kernels.h"

namespace snug::cpu::testing {
namespace {

// What the third step has beside its tensors.
template <class Op>
Op third_step() {
  Op op{};
  op.gradient_scale = 1.0f / 512;
  op.learning_rate = 6e-4f;
  op.beta1 = 0.9f;
  op.beta2 = 0.95f;
  op.epsilon = 1e-8f;
  op.weight_decay = 0.1f;
  op.correction1 = 0.271f;     // 1 - 0.9^3
  op.correction2 = 0.142625f;  // 1 - 0.95^3
  return op;
}

// `count` elements in `parts` equal parts, which stand for the tensors of a split update.
struct AdamwCase {
  std::int64_t parts, length;
  Values weights, gradients, m, v;
  AdamW settings = third_step<AdamW>();

  AdamwCase(std::int64_t part_count, std::int64_t part_length)
      : parts(part_count), length(part_length) {
    const std::int64_t count = parts * length;
    weights = normal_values(count, 1, 0.02f);
    gradients = normal_values(count, 2, 100.0f);
    m = normal_values(count, 3, 0.1f);
    v = normal_values(count, 4, 0.01f);
    for (float& value : v) value = std::abs(value);
  }
};

Values run_adamw(const AdamwCase& c, const Way& way) {
  const Array w(c.weights, way.offset), g(c.gradients, way.offset), m(c.m, way.offset),
      v(c.v, way.offset);
  for_each_call(way, c.parts, [&](std::int64_t first, std::int64_t count) {
    const std::int64_t at = first * c.length;
    AdamW op = c.settings;
    op.count = count * c.length;
    op.weights = w.data() + at;
    op.gradients = g.data() + at;
    op.m = m.data() + at;
    op.v = v.data() + at;
    way.fast ? adamw_fast(op) : reference::adamw(op);
  });
  return joined({w.values(), m.values(), v.values()});
}

// m errs by 4 roundings of its terms, v (all terms positive) by 5 of itself, the update by those
// of m and 9 of its own (two scalars, root, two quotients, product, sum, half of v's), w by 3.
std::vector<double> adamw_bounds(const AdamwCase& c) {
  const AdamW& s = c.settings;
  std::vector<double> w_bounds, m_bounds, v_bounds;
  for (std::size_t i = 0; i < c.weights.size(); ++i) {
    const double g = std::abs(static_cast<double>(c.gradients[i]) * s.gradient_scale);
    const double v = s.beta2 * c.v[i] + (1.0 - s.beta2) * g * g;
    const double rate = s.learning_rate / s.correction1 /
                        (std::sqrt(v / static_cast<double>(s.correction2)) + s.epsilon);
    const double m_terms = std::abs(c.m[i]) + g;
    m_bounds.push_back(4 * kRound * m_terms);
    v_bounds.push_back(6 * kRound * v + kSmallestNormal);
    w_bounds.push_back(3 * kRound * std::abs(c.weights[i]) + 13 * kRound * rate * m_terms);
  }
  w_bounds.insert(w_bounds.end(), m_bounds.begin(), m_bounds.end());
  w_bounds.insert(w_bounds.end(), v_bounds.begin(), v_bounds.end());
  return w_bounds;
}

TEST(AdamW, FastMatchesReferenceAndKeepsItsBits) {
  for (const std::int64_t length : {1, 3, 7, 16, 33, 1000, 20011}) {
    const AdamwCase c(3, length);
    check_kernel(
        c.parts, [&](const Way& way) { return run_adamw(c, way); }, adamw_bounds(c));
  }
}

// The first step from m = v = 0 moves a weight by lr * sign(g) after the decay, whatever g is.
TEST(AdamW, FirstStepIsTheSignOfTheGradient) {
  AdamwCase c(1, 40);
  std::fill(c.m.begin(), c.m.end(), 0.0f);
  std::fill(c.v.begin(), c.v.end(), 0.0f);
  c.settings.correction1 = 1.0f - c.settings.beta1;
  c.settings.correction2 = 1.0f - c.settings.beta2;
  const AdamW& s = c.settings;
  for (const bool fast : {false, true}) {
    const Values out = run_adamw(c, {fast, 1, 0});
    for (std::size_t i = 0; i < 40; ++i) {
      const double decayed =
          c.weights[i] * (1.0 - static_cast<double>(s.learning_rate) * s.weight_decay);
      const double step = std::copysign(static_cast<double>(s.learning_rate), c.gradients[i]);
      // epsilon against sqrt(v / correction2) = |g|, here at least 1e-4.
      EXPECT_NEAR(out[i], decayed - step, 1e-4 * s.learning_rate + 4 * kRound * std::abs(decayed));
    }
  }
}

// In the same pass, with moments of either kind.
TEST(AdamW, TheCopyIsTheMovedWeightRounded) {
  const AdamwCase c(1, 1003);
  const auto check = [&](auto op, auto kernel) {
    Values w = c.weights;
    std::vector<Bf16> bf16(w.size());
    std::vector<F16> f16(w.size());
    op.weights = w.data();
    op.gradients = c.gradients.data();
    op.copy_bf16 = bf16.data();
    op.copy_f16 = f16.data();
    kernel(op);
    EXPECT_NE(w, c.weights);
    for (std::size_t i = 0; i < w.size(); ++i) {
      EXPECT_EQ(bf16[i].bits, nearest<Bf16>(w[i]).bits) << i;
      EXPECT_EQ(f16[i].bits, nearest<F16>(w[i]).bits) << i;
    }
  };
  const auto check_both = [&](auto float_kernel, auto bf16_kernel) {
    Values m = c.m, v = c.v;
    AdamW op = c.settings;
    op.count = std::ssize(m), op.m = m.data(), op.v = v.data();
    check(op, float_kernel);
    std::vector<std::uint16_t> m16(m.size()), v16(m.size());
    auto rounded = third_step<AdamWBf16>();
    rounded.count = op.count, rounded.m = m16.data(), rounded.v = v16.data();
    check(rounded, bf16_kernel);
  };
  check_both(reference::adamw, reference::adamw_bf16);
  for_each_target([&] { check_both(adamw_fast, adamw_bf16_fast); });
}

TEST(AdamW, NanGradientReachesTheWeight) {
  AdamwCase c(1, 37);
  c.gradients[4] = c.gradients[36] = std::numeric_limits<float>::quiet_NaN();
  for_each_target([&] {
    const Values out = run_adamw(c, {true, 1, 0});
    for (std::size_t i = 0; i < 37; ++i) EXPECT_EQ(std::isnan(out[i]), i == 4 || i == 36) << i;
  });
}

// Squares of floats are exact in double; a sum of n of them errs by at most n * 2^-53 of itself.
TEST(SumOfSquares, MatchesReferenceAndKeepsItsBits) {
  for (const std::int64_t count : {0, 1, 3, 33, 16384, 16385, 100003}) {
    const Values values = normal_values(count, 5);
    std::vector<double> scratch(static_cast<std::size_t>(count / kSquareBlock + 1));
    const double expected = reference::sum_of_squares(values.data(), count, scratch.data());
    for_each_target([&] {
      const double sum = sum_of_squares_fast(values.data(), count, scratch.data());
      EXPECT_NEAR(sum, expected, 2.0 * static_cast<double>(count) * 0x1.0p-53 * expected);
      for (const int offset : {0, 1, 3}) {
        const Array moved(values, offset);
        for (const int threads : {1, 2}) {
          const ThreadCount guard(threads);
          EXPECT_EQ(sum_of_squares_fast(moved.data(), count, scratch.data()), sum);
        }
      }
    });
  }
}

TEST(SumOfSquares, NanAndLargeValuesAreSeen) {
  Values values(20000, 1e25f);  // the squares overflow a float
  std::vector<double> scratch(2);
  for_each_target([&] {
    EXPECT_TRUE(std::isfinite(sum_of_squares_fast(values.data(), 20000, scratch.data())));
  });
  values[19999] = std::numeric_limits<float>::quiet_NaN();
  for_each_target(
      [&] { EXPECT_TRUE(std::isnan(sum_of_squares_fast(values.data(), 20000, scratch.data()))); });
}

}  // namespace
}  // namespace snug::cpu::testing
