// AdamW with moments in bfloat16: against the float kernels and the plain rounding, against the
// reference, and over many updates.
#include <limits>

#include "backend/cpu/kernels/bf16.h"
#include "backend/cpu/kernels/fast_kernels.h"
#include "backend/cpu/kernels/kernel_testing.h"
#include "backend/cpu/kernels/reference/kernels.h"
#include "base/philox.h"

namespace snug::cpu::testing {
namespace {

using Halves = std::vector<std::uint16_t>;

constexpr MomentRounding kRounding{.seed = 0x123456789ABCDEFULL, .parameter = 5, .iteration = 7};

Halves rounded_down(const Values& values) {
  Halves halves;
  for (const float value : values) halves.push_back(round_to_bf16(value, 0));
  return halves;
}

Values widened(const Halves& halves) {
  Values values;
  for (const std::uint16_t half : halves) values.push_back(bf16_to_float(half));
  return values;
}

// One parameter and everything that updates it.
struct HalfCase {
  Values weights, gradients;
  Halves m, v;
  AdamWBf16 settings{};

  explicit HalfCase(std::int64_t count) {
    weights = normal_values(count, 1, 0.02f);
    gradients = normal_values(count, 2, 100.0f);
    m = rounded_down(normal_values(count, 3, 0.1f));
    v = rounded_down(normal_values(count, 4, 0.01f));
    for (std::uint16_t& half : v) half &= 0x7FFF;
    settings.gradient_scale = 1.0f / 512;
    settings.learning_rate = 6e-4f;
    settings.beta1 = 0.9f;
    settings.beta2 = 0.95f;
    settings.epsilon = 1e-8f;
    settings.weight_decay = 0.1f;
    settings.correction1 = 0.271f;     // 1 - 0.9^3
    settings.correction2 = 0.142625f;  // 1 - 0.95^3
    settings.rounding = kRounding;
  }
  std::size_t size() const { return weights.size(); }
};

struct Outcome {
  Values weights, m, v;
};

Outcome run_bf16(const HalfCase& c, bool fast, int offset = 0) {
  const Array w(c.weights, offset), g(c.gradients, offset);
  Halves m(static_cast<std::size_t>(offset)), v(m);
  m.insert(m.end(), c.m.begin(), c.m.end());
  v.insert(v.end(), c.v.begin(), c.v.end());
  AdamWBf16 op = c.settings;
  op.count = static_cast<std::int64_t>(c.size());
  op.weights = w.data();
  op.gradients = g.data();
  op.m = m.data() + offset;
  op.v = v.data() + offset;
  fast ? adamw_bf16_fast(op) : reference::adamw_bf16(op);
  m.erase(m.begin(), m.begin() + offset);
  v.erase(v.begin(), v.begin() + offset);
  return {w.values(), widened(m), widened(v)};
}

// The same update with moments in float: what m and v are before they are rounded.
Outcome run_float(const HalfCase& c, bool fast) {
  Outcome out{c.weights, widened(c.m), widened(c.v)};
  const AdamWBf16& s = c.settings;
  const AdamW op{static_cast<std::int64_t>(c.size()),
                 out.weights.data(),
                 c.gradients.data(),
                 out.m.data(),
                 out.v.data(),
                 s.gradient_scale,
                 s.learning_rate,
                 s.beta1,
                 s.beta2,
                 s.epsilon,
                 s.weight_decay,
                 s.correction1,
                 s.correction2};
  fast ? adamw_fast(op) : reference::adamw(op);
  return out;
}

std::uint32_t random_word(const MomentRounding& r, std::size_t element) {
  return philox(r.seed, {static_cast<std::uint32_t>(element / 4),
                         static_cast<std::uint32_t>(RandomPurpose::kRoundMoments), r.parameter,
                         r.iteration})[element % 4];
}

float rounded_m(float x, std::size_t element) {
  return bf16_to_float(round_to_bf16(x, random_word(kRounding, element) & 0xFFFF));
}
float rounded_v(float x, std::size_t element) {
  return bf16_to_float(round_to_bf16(x, random_word(kRounding, element) >> 16));
}

// The weights move as with the float moments that the bfloat16 ones widen to, bit for bit; the
// moments are the float ones rounded by their words. So the bits depend on the element alone.
void expect_rounded_float_update(const HalfCase& c, bool fast) {
  const Outcome exact = run_float(c, fast), out = run_bf16(c, fast);
  expect_same_bits(out.weights, exact.weights, "weights");
  for (std::size_t i = 0; i < c.size(); ++i) {
    ASSERT_EQ(out.m[i], rounded_m(exact.m[i], i)) << "m of " << i << " of " << c.size();
    ASSERT_EQ(out.v[i], rounded_v(exact.v[i], i)) << "v of " << i << " of " << c.size();
  }
}

TEST(AdamWBf16, IsTheFloatUpdateRoundedByTheElementsWord) {
  for (const std::int64_t count : {1, 3, 7, 16, 31, 33, 1000, 40011}) {
    const HalfCase c(count);
    expect_rounded_float_update(c, false);
    for_each_target([&] { expect_rounded_float_update(c, true); });
  }
}

// Where the floats of two kernels are at most `bound` apart, the same random number rounds them
// into the same bfloat16 or, when that many floats hold a border, into neighbours: rounding with a
// fixed random number is monotone. Most of these bounds are 0.
template <class Rounded>
double bound_of_rounded(float exact, double bound, Rounded rounded) {
  const float low = std::nextafter(static_cast<float>(exact - bound), -HUGE_VALF);
  const float high = std::nextafter(static_cast<float>(exact + bound), HUGE_VALF);
  const double here = rounded(exact);
  return std::max(here - rounded(low), rounded(high) - here);
}

// The float errors are those of adamw_test.cc.
std::vector<double> bf16_bounds(const HalfCase& c) {
  const AdamWBf16& s = c.settings;
  const Outcome exact = run_float(c, false);
  std::vector<double> bounds, m_bounds, v_bounds;
  for (std::size_t i = 0; i < c.size(); ++i) {
    const double g = std::abs(static_cast<double>(c.gradients[i]) * s.gradient_scale);
    const double m_terms = std::abs(bf16_to_float(c.m[i])) + g, v = exact.v[i];
    const double rate = s.learning_rate / s.correction1 /
                        (std::sqrt(v / static_cast<double>(s.correction2)) + s.epsilon);
    bounds.push_back(3 * kRound * std::abs(c.weights[i]) + 13 * kRound * rate * m_terms);
    m_bounds.push_back(bound_of_rounded(exact.m[i], 4 * kRound * m_terms,
                                        [&](float x) { return rounded_m(x, i); }));
    v_bounds.push_back(bound_of_rounded(exact.v[i], 6 * kRound * v + kSmallestNormal,
                                        [&](float x) { return rounded_v(x, i); }));
  }
  bounds.insert(bounds.end(), m_bounds.begin(), m_bounds.end());
  bounds.insert(bounds.end(), v_bounds.begin(), v_bounds.end());
  return bounds;
}

TEST(AdamWBf16, FastMatchesReferenceAndKeepsItsBits) {
  for (const std::int64_t count : {1, 3, 7, 16, 33, 1000, 60033}) {
    const HalfCase c(count);
    const auto run_op = [&](const Way& way) {
      const Outcome out = run_bf16(c, way.fast, way.offset);
      return joined({out.weights, out.m, out.v});
    };
    check_kernel(1, run_op, bf16_bounds(c));
  }
}

double mean_of(const Values& values) {
  double sum = 0;
  for (const float value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

// n elements with one value each side of a step s: the mean's standard deviation is at most
// s / (2 sqrt(n)). Five of them are 0.01 s, while the nearest is 0.2 s away or more.
TEST(AdamWBf16, MeanOfRoundingsIsTheFloatMoment) {
  HalfCase c(1 << 16);
  std::fill(c.gradients.begin(), c.gradients.end(), 1.0f);
  c.settings.gradient_scale = 1.0f;
  std::fill(c.m.begin(), c.m.end(), round_to_bf16(1.0234375f, 0));  // m = 1.02109, step 2^-7
  std::fill(c.v.begin(), c.v.end(), round_to_bf16(0.6328125f, 0));  // v = 0.65117, step 2^-8
  const double tolerance = 5.0 / (2 * std::sqrt(static_cast<double>(c.size())));
  const Outcome exact = run_float(c, true), out = run_bf16(c, true);
  const auto check = [&](float value, const Values& rounded, double step) {
    const double fraction = value / step - std::floor(value / step);
    ASSERT_GT(std::min(fraction, 1 - fraction), 0.2) << "the case would not see the nearest";
    EXPECT_NEAR(mean_of(rounded), value, tolerance * step);
  };
  check(exact.m[0], out.m, 0x1.0p-7);
  check(exact.v[0], out.v, 0x1.0p-8);
}

// v of every element after `updates` updates with one constant gradient and beta2 = 0.999.
Values second_moments_after(int updates, float gradient, float v, std::int64_t count) {
  HalfCase c(count);
  c.settings.gradient_scale = 1.0f;
  c.settings.beta2 = 0.999;
  std::fill(c.gradients.begin(), c.gradients.end(), gradient);
  std::fill(c.v.begin(), c.v.end(), round_to_bf16(v, 0));
  AdamWBf16 op = c.settings;
  op.count = count;
  op.weights = c.weights.data();
  op.gradients = c.gradients.data();
  op.m = c.m.data();
  op.v = c.v.data();
  for (int i = 0; i < updates; ++i) {
    op.rounding.iteration = static_cast<std::uint32_t>(i);
    adamw_bf16_fast(op);
  }
  return widened(c.v);
}

// The same with v rounded to the nearest bfloat16, ties to even.
float second_moment_by_nearest(int updates, float gradient, float v) {
  for (int i = 0; i < updates; ++i) {
    v = 0.999f * v + (1 - 0.999f) * gradient * gradient;
    const auto bits = std::bit_cast<std::uint32_t>(v);
    v = bf16_to_float(static_cast<std::uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16));
  }
  return v;
}

// Rounding adds a noise of mean 0 and variance at most s * |d| / 1000, where s is the step at g^2
// and d = g^2 - v: the fraction of a step that an update moves v by. With the decay that leaves
// E d^2 = 500 * s * E|d| / 1000, so v stays within s / 2 (root mean square); five deviations of the
// mean of 256 are 0.16 s. What is left of the start, 0.999^10000, is 0.01 s, as are the roundings
// of 1000 float updates.
TEST(AdamWBf16, SecondMomentReachesAConstantSquareWhereTheNearestStalls) {
  constexpr float kGradient = 1.2f;
  constexpr double kSquare = 1.44, kStep = 0x1.0p-7;
  EXPECT_LT(second_moment_by_nearest(10000, kGradient, 0.0f), 0.4 * kSquare);
  const Values v = second_moments_after(10000, kGradient, 0.0f, 256);
  EXPECT_NEAR(mean_of(v), kSquare, 0.2 * kStep);
  // Ten deviations of one element.
  for (const float value : v) EXPECT_NEAR(value, kSquare, 5 * kStep);
}

// Each update's noise is at most sqrt(2^-7 / 1000) of v, so after 2000 its relative deviation is
// sqrt(2000 * 2^-7 / 1000) = 0.125; five of the mean of 1024 are 2%.
TEST(AdamWBf16, SecondMomentDecaysWhereTheNearestStalls) {
  EXPECT_EQ(second_moment_by_nearest(2000, 0.0f, 1.0f), 1.0f);
  const double expected = std::pow(0.999, 2000);
  EXPECT_NEAR(mean_of(second_moments_after(2000, 0.0f, 1.0f, 1024)), expected, 0.02 * expected);
}

TEST(AdamWBf16, NanReachesWeightAndMomentsOfItsElementAlone) {
  HalfCase c(37);
  c.gradients[4] = c.gradients[36] = std::numeric_limits<float>::quiet_NaN();
  const auto check = [&](const Outcome& out) {
    for (std::size_t i = 0; i < c.size(); ++i) {
      const bool expected = i == 4 || i == 36;
      EXPECT_EQ(std::isnan(out.weights[i]), expected) << i;
      EXPECT_EQ(std::isnan(out.m[i]), expected) << i;
      EXPECT_EQ(std::isnan(out.v[i]), expected) << i;
    }
  };
  check(run_bf16(c, false));
  for_each_target([&] { check(run_bf16(c, true)); });
}

// v = infinity, then v and m between the largest bfloat16 and the largest float: of 1000 roundings
// 3.75% and 5% would go up.
TEST(AdamWBf16, InfinityStaysAndTheLargestDoesNotBecomeIt) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float largest = bf16_to_float(kBf16Largest);
  HalfCase c(2999);
  c.settings.gradient_scale = 1.0f;
  for (std::size_t i = 0; i < c.size(); ++i) {
    if (i < 1000) {
      c.v[i] = round_to_bf16(kInfinity, 0);
    } else if (i < 2000) {
      c.v[i] = kBf16Largest;
      c.gradients[i] = static_cast<float>(std::sqrt(0x1.FF8p127));
    } else {
      c.m[i] = kBf16Largest;
      c.gradients[i] = 0x1.FFp127f;
    }
  }
  const auto check = [&](const Outcome& out) {
    for (std::size_t i = 0; i < c.size(); ++i) {
      if (i < 1000) {
        EXPECT_EQ(out.v[i], kInfinity) << i;
      } else {
        EXPECT_EQ(i < 2000 ? out.v[i] : out.m[i], largest) << i;
      }
    }
  };
  for (const bool fast : {false, true}) {
    const Outcome exact = run_float(c, fast);
    EXPECT_GT(exact.v[1000], largest);
    EXPECT_GT(exact.m[2000], largest);
  }
  check(run_bf16(c, false));
  for_each_target([&] { check(run_bf16(c, true)); });
}

TEST(AdamWBf16, ZeroStaysZero) {
  HalfCase c(1003);
  std::fill(c.m.begin(), c.m.end(), 0);
  std::fill(c.v.begin(), c.v.end(), 0);
  std::fill(c.gradients.begin(), c.gradients.end(), 0.0f);
  const auto check = [&](const Outcome& out) {
    expect_same_bits(out.m, Values(c.size(), 0.0f), "m");
    expect_same_bits(out.v, Values(c.size(), 0.0f), "v");
  };
  check(run_bf16(c, false));
  for_each_target([&] { check(run_bf16(c, true)); });
}

// The share of elements of which m or v came out otherwise.
double share_that_differs(const Outcome& a, const Outcome& b) {
  double differing = 0;
  for (std::size_t i = 0; i < a.m.size(); ++i) differing += a.m[i] != b.m[i] || a.v[i] != b.v[i];
  return differing / static_cast<double>(a.m.size());
}

// Two roundings of one float at a uniform place in its step differ in a third of the cases, so one
// of two moments does in 5/9 of them; the share of 10000 has a standard deviation of 0.005.
TEST(AdamWBf16, BitsDependOnSeedIterationAndParameterAlone) {
  HalfCase c(10000);
  const Outcome out = run_bf16(c, true);
  EXPECT_EQ(share_that_differs(run_bf16(c, true), out), 0.0);
  const auto changed = [&](auto change) {
    HalfCase other = c;
    change(other.settings.rounding);
    return share_that_differs(run_bf16(other, true), out);
  };
  EXPECT_NEAR(changed([](MomentRounding& r) { ++r.iteration; }), 5.0 / 9, 0.05);
  EXPECT_NEAR(changed([](MomentRounding& r) { ++r.parameter; }), 5.0 / 9, 0.05);
  EXPECT_NEAR(changed([](MomentRounding& r) { ++r.seed; }), 5.0 / 9, 0.05);
  EXPECT_NEAR(changed([](MomentRounding& r) { r.seed ^= 1ULL << 40; }), 5.0 / 9, 0.05);
}

}  // namespace
}  // namespace snug::cpu::testing
