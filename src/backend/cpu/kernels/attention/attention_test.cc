// The fast attention against the reference on every instruction set of this machine, and the
// reference against finite differences in double.
#include "backend/cpu/kernels/attention/attention.h"

#include <gtest/gtest.h>
#include <hwy/highway.h>
#include <omp.h>

#include <cfloat>
#include <cmath>
#include <string>
#include <vector>

#include "backend/cpu/kernels/attention/test_case.h"
#include "backend/cpu/kernels/reference/attention.h"
#include "base/philox.h"

namespace snug::cpu {
namespace {

using Doubles = std::vector<double>;

// A sum of n products, its roundings taken as independent, is off by kLambda * sqrt(n) * kUnit
// times the sum of absolute products, but for a chance of 2 exp(-kLambda^2 / 2) (Higham and Mary,
// 2019). kFew covers the handful of single roundings (scaling, exp2 at 2 units, division).
constexpr double kUnit = 0x1p-24, kLambda = 5.0, kFew = 8.0;

double sum_error(std::int64_t n) { return kUnit * (kLambda * std::sqrt(double(n)) + kFew); }

// First-order error bounds, element by element: the sums of absolute terms times their relative
// errors. A probability's relative error is the absolute error of its exponent.
struct Bounds {
  Doubles out, lse, dqkv;
};

Bounds error_bounds(const AttentionShape& s, const std::vector<float>& qkv,
                    const std::vector<float>& dout, const AttentionResult& expected) {
  const auto [B, T, H, D, with_dropout] = s;
  const std::int64_t C = s.C();
  const double scale = 1.0 / std::sqrt(double(D)), multiplier = with_dropout ? 4.0 / 3.0 : 1.0;
  Bounds bounds{Doubles(expected.out.size(), FLT_MIN), Doubles(expected.lse.size(), FLT_MIN),
                Doubles(expected.dqkv.size(), T * double(FLT_MIN))};
  for (std::int64_t n = 0; n < B * H * T; ++n) {
    const std::int64_t b = n / (H * T), h = n / T % H, i = n % T;
    const std::int64_t qi = (b * T + i) * 3 * C + h * D, oi = (b * T + i) * C + h * D;
    double worst = 0, delta = 0, reach = 0;
    Doubles p(i + 1), p_error(i + 1);
    for (std::int64_t d = 0; d < D; ++d) delta += std::abs(dout[oi + d] * expected.out[oi + d]);
    for (std::int64_t j = 0; j <= i; ++j) {
      const std::int64_t kj = (b * T + j) * 3 * C + C + h * D;
      double score = 0, size = 0;
      for (std::int64_t d = 0; d < D; ++d) {
        score += scale * qkv[qi + d] * qkv[kj + d];
        size += scale * std::abs(qkv[qi + d] * qkv[kj + d]);
      }
      p[j] = std::exp(score - expected.lse[n]);
      // The exponent: the product, the subtraction of the maximum or of lse, the polynomial.
      p_error[j] = size * sum_error(D) + kUnit * (2 * std::abs(expected.lse[n]) + kFew);
      worst = std::max(worst, p_error[j]);
      reach = std::max(reach, std::abs(score));
    }
    // The total's share; the rescaling by the running maximum rounds once per key tile.
    const double norm_error = worst + sum_error(i + 1) + 2 * kUnit * reach;
    bounds.lse[n] += norm_error + 4 * kUnit * std::abs(expected.lse[n]);
    for (std::int64_t j = 0; j <= i; ++j) {
      const std::int64_t kj = (b * T + j) * 3 * C + C + h * D, vj = kj + C;
      double dp = 0;
      for (std::int64_t d = 0; d < D; ++d) dp += multiplier * std::abs(dout[oi + d] * qkv[vj + d]);
      const double ds = scale * p[j] * (dp + delta);
      for (std::int64_t d = 0; d < D; ++d) {
        bounds.out[oi + d] += p[j] * multiplier * std::abs(qkv[vj + d]) *
                              (p_error[j] + norm_error + sum_error(i + 1));
        bounds.dqkv[vj + d] +=
            p[j] * multiplier * std::abs(dout[oi + d]) * (p_error[j] + sum_error(T));
        const double ds_error = ds * (p_error[j] + 2 * sum_error(D) + sum_error(T));
        bounds.dqkv[qi + d] += ds_error * std::abs(qkv[kj + d]);
        bounds.dqkv[kj + d] += ds_error * std::abs(qkv[qi + d]);
      }
    }
  }
  return bounds;
}

void expect_within(const std::vector<float>& got, const std::vector<float>& want,
                   const Doubles& bounds, const std::string& what) {
  for (std::size_t n = 0; n < want.size(); ++n) {
    ASSERT_LE(std::abs(double(got[n]) - want[n]), bounds[n])
        << what << " element " << n << ": " << got[n] << " for " << want[n];
  }
}

std::string describe(const AttentionShape& s, std::int64_t target) {
  return std::string(hwy::TargetName(target)) + " B" + std::to_string(s.B) + " T" +
         std::to_string(s.T) + " H" + std::to_string(s.H) + " D" + std::to_string(s.D) +
         (s.dropout ? " dropout" : "");
}

void check_shape(const AttentionShape& s, float spread) {
  const auto qkv = random_floats(s.B * s.T * 3 * s.C(), 1, spread);
  const auto dout = random_floats(s.B * s.T * s.C(), 2, 1.0f);
  const Dropout dropout = test_dropout(s.dropout);
  const AttentionResult expected = run_attention(s, qkv, dout, dropout, reference::attention<float>,
                                                 reference::attention_backward<float>);
  const Bounds bounds = error_bounds(s, qkv, dout, expected);
  // One thread: the bits do not depend on it (attention_bits_test), thousands of barriers cost
  // time.
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    const AttentionResult got = run_attention(s, qkv, dout, dropout, attention_fast<float>,
                                              attention_backward_fast<float>, 0, &expected);
    hwy::SetSupportedTargetsForTest(0);
    const std::string where = describe(s, target);
    expect_within(got.out, expected.out, bounds.out, where + " out");
    expect_within(got.lse, expected.lse, bounds.lse, where + " lse");
    expect_within(got.dqkv, expected.dqkv, bounds.dqkv, where + " dqkv");
    if (::testing::Test::HasFatalFailure()) break;
  }
  omp_set_num_threads(threads);
}

TEST(Attention, MatchesReferenceOverShapes) {
  for (const std::int64_t T : {1, 2, 3, 15, 16, 17, 63, 64, 65, 100, 257}) {
    for (const std::int64_t D : {1, 2, 5, 8, 16, 31, 64, 80, 128}) {
      for (const std::int64_t H : {1, 3}) {
        for (const std::int64_t B : {1, 2}) {
          // The long ones once per dropout setting: the reference is O(T^2 D).
          if (T >= 100 && (B == 2 || H == 1)) continue;
          for (const bool dropout : {false, true}) {
            check_shape({B, T, H, D, dropout}, 1.0f);
            if (HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

// Scores of some hundreds: most probabilities are 0 or 1, and the running maximum moves a lot.
TEST(Attention, MatchesReferenceWithSaturatedSoftmax) {
  check_shape({1, 257, 2, 64, false}, 8.0f);
  check_shape({1, 257, 2, 31, true}, 6.0f);
}

TEST(Attention, ForwardWithoutLseGivesTheSameBits) {
  const AttentionShape s{2, 100, 3, 31, true};
  const auto qkv = random_floats(s.B * s.T * 3 * s.C(), 3, 1.0f);
  std::vector<float> with(s.B * s.T * s.C()), without(with.size()), lse(s.B * s.H * s.T);
  GuardedScratch scratch(attention_scratch_bytes(s.T, s.D, omp_get_max_threads()), 0);
  Attention a{s.B,
              s.T,
              s.C(),
              s.H,
              qkv.data(),
              with.data(),
              lse.data(),
              scratch.whole(),
              test_dropout(true)};
  attention_fast(a);
  a.out = without.data();
  a.lse = nullptr;
  attention_fast(a);
  EXPECT_EQ(with, without);
}

// A diverged run must be seen: no maximum or clamp may swallow a NaN.
TEST(Attention, NanReachesTheRowsThatSeeItAndNoOther) {
  const AttentionShape s{1, 40, 1, 16, false};
  const auto dout = random_floats(s.T * s.C(), 5, 1.0f);
  for (const bool in_key : {false, true}) {
    auto qkv = random_floats(s.T * 3 * s.C(), 4, 1.0f);
    qkv[17 * 3 * s.C() + (in_key ? s.C() : 0) + 3] = NAN;
    for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
      hwy::SetSupportedTargetsForTest(target);
      const AttentionResult got =
          run_attention(s, qkv, dout, {}, attention_fast<float>, attention_backward_fast<float>);
      hwy::SetSupportedTargetsForTest(0);
      for (std::int64_t n = 0; n < s.T * s.D; ++n) {
        const std::int64_t row = n / s.D;
        ASSERT_EQ(std::isnan(got.out[n]), in_key ? row >= 17 : row == 17)
            << hwy::TargetName(target) << " row " << row;
      }
    }
  }
}

TEST(Attention, DecodeRowByRowMatchesForward) {
  for (const std::int64_t D : {1, 5, 16, 31, 64}) {
    const AttentionShape s{1, 65, 3, D, false};
    const std::int64_t C = s.C();
    const auto qkv = random_floats(s.T * 3 * C, 6, 1.0f);
    const std::vector<float> dout(s.T * C);
    const AttentionResult expected = run_attention(s, qkv, dout, {}, reference::attention<float>,
                                                   reference::attention_backward<float>);
    const Bounds bounds = error_bounds(s, qkv, dout, expected);
    for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
      hwy::SetSupportedTargetsForTest(target);
      for (const auto decode : {attention_decode_fast<float>, reference::attention_decode<float>}) {
        std::vector<float> keys(s.T * C), values(s.T * C), out(s.T * C);
        for (std::int64_t t = 0; t < s.T; ++t) {
          std::vector<float> scratch(s.H * (t + 1));
          decode({C, s.H, t, &qkv[t * 3 * C], keys.data(), values.data(), &out[t * C],
                  scratch.data()});
        }
        expect_within(out, expected.out, bounds.out, describe(s, target) + " decode");
      }
      hwy::SetSupportedTargetsForTest(0);
    }
  }
}

// loss = sum(weights * out), differentiated by central differences of step h = 2^-17 in double:
// the truncation is O(h^2) = 6e-11 and the rounding O(2^-53 / h) = 1e-11, times values of order 10.
TEST(ReferenceAttention, BackwardMatchesFiniteDifferences) {
  constexpr std::int64_t kT = 7, kD = 3;
  constexpr double kStep = 0x1p-17, kTolerance = 1e-8;
  const auto random = [](std::int64_t count, std::uint32_t seed) {
    const auto floats = random_floats(count, seed, 1.0f);
    return Doubles(floats.begin(), floats.end());
  };
  Doubles inputs[3] = {random(kT * kD, 7), random(kT * kD, 8), random(kT * kD, 9)};
  const Doubles weights = random(kT * kD, 10);
  Doubles multipliers(kT * kT), out(kT * kD), lse(kT);
  for (std::int64_t n = 0; n < kT * kT; ++n) multipliers[n] = n % 3 == 0 ? 0.0 : 1.5;
  const reference::Head head{
      kT, kD, inputs[0].data(), inputs[1].data(), inputs[2].data(), multipliers.data()};
  Doubles gradients[3] = {Doubles(kT * kD), Doubles(kT * kD), Doubles(kT * kD)};
  reference::head_forward(head, out.data(), lse.data());
  reference::head_backward(head, out.data(), lse.data(), weights.data(),
                           {gradients[0].data(), gradients[1].data(), gradients[2].data()});
  const auto loss = [&] {
    Doubles y(kT * kD), y_lse(kT);
    reference::head_forward(head, y.data(), y_lse.data());
    double sum = 0;
    for (std::int64_t n = 0; n < kT * kD; ++n) sum += weights[n] * y[n];
    return sum;
  };
  for (int which = 0; which < 3; ++which) {
    for (std::int64_t n = 0; n < kT * kD; ++n) {
      double& x = inputs[which][n];
      const double kept = x;
      x = kept + kStep;
      const double above = loss();
      x = kept - kStep;
      const double below = loss();
      x = kept;
      EXPECT_NEAR(gradients[which][n], (above - below) / (2 * kStep), kTolerance)
          << "qkv"[which] << " element " << n;
    }
  }
}

}  // namespace
}  // namespace snug::cpu
