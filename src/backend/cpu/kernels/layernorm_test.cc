// LayerNorm: the shared check of kernels forward and backward, recomputation, NaN, derivatives.
#include <limits>

#include "backend/cpu/kernels/fast_kernels.h"
#include "backend/cpu/kernels/kernel_testing.h"
#include "backend/cpu/kernels/reference/kernels.h"

namespace snug::cpu::testing {
namespace {

struct NormCase {
  std::int64_t B, T, C;
  bool has_beta;
  Values x, gamma, beta, dy, dx, dgamma, dbeta;  // the last three: what is there before

  NormCase(const BatchShape& shape, bool with_beta)
      : B(shape.B), T(shape.T), C(shape.C), has_beta(with_beta) {
    x = normal_values(B * T * C, 1);
    for (float& value : x) value += 0.5f;
    gamma = normal_values(C, 2);
    beta = normal_values(C, 3);
    dy = normal_values(B * T * C, 4);
    dx = normal_values(B * T * C, 5);
    dgamma = normal_values(C, 6);
    dbeta = normal_values(C, 7);
  }
};

struct Forward {
  Values y, mean, rstd;
};

Forward run_forward(const NormCase& c, const Way& way, bool again = false) {
  const Array x(c.x, way.offset), gamma(c.gamma, way.offset), beta(c.beta, way.offset);
  const Array y(Values(c.x.size()), way.offset);
  const Values per_row(static_cast<std::size_t>(c.B * c.T));
  const Array mean(per_row, way.offset), rstd(per_row, way.offset);
  for_each_call(way, c.B, [&](std::int64_t first, std::int64_t count) {
    const std::int64_t row = first * c.T;
    const LayerNorm op{count * c.T,
                       c.C,
                       x.data() + row * c.C,
                       gamma.data(),
                       c.has_beta ? beta.data() : nullptr,
                       y.data() + row * c.C,
                       mean.data() + row,
                       rstd.data() + row};
    way.fast ? layernorm_forward_fast(op) : reference::layernorm_forward(op);
    if (again) {
      std::fill(op.y, op.y + count * c.T * c.C, 0.0f);
      way.fast ? layernorm_apply_fast(op) : reference::layernorm_apply(op);
    }
  });
  return {y.values(), mean.values(), rstd.values()};
}

// mean and rstd come from the reference, so that both tables see the same inputs.
Values run_backward(const NormCase& c, const Forward& forward, const Way& way) {
  const Array x(c.x, way.offset), gamma(c.gamma, way.offset), dy(c.dy, way.offset);
  const Array mean(forward.mean, way.offset), rstd(forward.rstd, way.offset);
  const Array dx(c.dx, way.offset), dgamma(c.dgamma, way.offset), dbeta(c.dbeta, way.offset);
  const Array sums(Values(static_cast<std::size_t>(c.B * 2 * c.C), NAN), way.offset);
  for_each_call(way, c.B, [&](std::int64_t first, std::int64_t count) {
    const std::int64_t row = first * c.T, at = row * c.C;
    const LayerNormBackward op{count,
                               c.T,
                               c.C,
                               dy.data() + at,
                               x.data() + at,
                               gamma.data(),
                               mean.data() + row,
                               rstd.data() + row,
                               dx.data() + at,
                               dgamma.data(),
                               c.has_beta ? dbeta.data() : nullptr,
                               sums.data()};
    way.fast ? layernorm_backward_fast(op) : reference::layernorm_backward(op);
  });
  return joined({dx.values(), dgamma.values(), dbeta.values()});
}

// A sum of C floats in any order errs by at most C roundings of the sum of their magnitudes. That
// is the mean's error; rstd has half the relative error of a variance, plus the mean's squared.
std::vector<double> forward_bounds(const NormCase& c, const Forward& reference) {
  std::vector<double> y, mean, rstd;
  for (std::int64_t row = 0; row < c.B * c.T; ++row) {
    const float* x = c.x.data() + row * c.C;
    double magnitude = 0.0;
    for (std::int64_t i = 0; i < c.C; ++i) magnitude += std::abs(x[i]);
    const auto at = static_cast<std::size_t>(row);
    const double sum_rounds = static_cast<double>(c.C + 8) * kRound;
    const double mean_error = sum_rounds * magnitude / static_cast<double>(c.C);
    const double r = reference.rstd[at], shift = mean_error * r;
    const double rstd_error = r * (sum_rounds + shift * shift);
    mean.push_back(mean_error);
    rstd.push_back(rstd_error);
    for (std::int64_t i = 0; i < c.C; ++i) {
      const auto column = static_cast<std::size_t>(i);
      const double xhat = std::abs(x[i] - reference.mean[at]) * r;
      const double error = shift + xhat * (rstd_error / r + 4 * kRound);
      const double beta = c.has_beta ? std::abs(c.beta[column]) : 0.0;
      y.push_back(std::abs(c.gamma[column]) * (error + 2 * kRound * xhat) + 2 * kRound * beta);
    }
  }
  y.insert(y.end(), mean.begin(), mean.end());
  y.insert(y.end(), rstd.begin(), rstd.end());
  return y;
}

// The same rule for the sums over C in dx and for the sums over T and B in dgamma and dbeta.
std::vector<double> backward_bounds(const NormCase& c, const Forward& forward) {
  const auto width = static_cast<std::size_t>(c.C);
  std::vector<double> dx;
  std::vector<double> dgamma(width), dbeta(width);
  const double rounds = static_cast<double>(c.T + 2 * c.B + 6) * kRound;
  for (std::size_t row = 0; row < forward.mean.size(); ++row) {
    std::vector<double> h(width), xhat(width);
    double mean_h = 0.0, mean_hx = 0.0;
    for (std::size_t i = 0; i < width; ++i) {
      const double dy = std::abs(c.dy[row * width + i]);
      xhat[i] = std::abs(c.x[row * width + i] - forward.mean[row]) * forward.rstd[row];
      h[i] = dy * std::abs(c.gamma[i]);
      mean_h += h[i] / static_cast<double>(width);
      mean_hx += h[i] * xhat[i] / static_cast<double>(width);
      dgamma[i] += rounds * dy * xhat[i];
      dbeta[i] += rounds * dy;
    }
    for (std::size_t i = 0; i < width; ++i) {
      const double terms = h[i] + mean_h + xhat[i] * mean_hx;
      const double sum_rounds = static_cast<double>(c.C + 10) * kRound;
      const double before = std::abs(c.dx[row * width + i]);
      dx.push_back(forward.rstd[row] * terms * sum_rounds + 2 * kRound * before);
    }
  }
  for (std::size_t i = 0; i < width; ++i) dgamma[i] += rounds * std::abs(c.dgamma[i]);
  for (std::size_t i = 0; i < width; ++i) dbeta[i] += rounds * std::abs(c.dbeta[i]);
  dx.insert(dx.end(), dgamma.begin(), dgamma.end());
  dx.insert(dx.end(), dbeta.begin(), dbeta.end());
  return dx;
}

TEST(LayerNorm, FastMatchesReferenceAndKeepsItsBits) {
  for (const BatchShape& shape : kShapes) {
    for (const bool has_beta : {false, true}) {
      const NormCase c(shape, has_beta);
      const Forward reference = run_forward(c, {false, c.B, 0});
      const auto forward = [&](const Way& way) {
        const Forward f = run_forward(c, way);
        return joined({f.y, f.mean, f.rstd});
      };
      check_kernel(c.B, forward, forward_bounds(c, reference));
      const auto backward = [&](const Way& way) { return run_backward(c, reference, way); };
      check_kernel(c.B, backward, backward_bounds(c, reference));
    }
  }
}

TEST(LayerNorm, ApplyRepeatsForwardBitForBit) {
  for (const BatchShape& shape : kShapes) {
    const NormCase c(shape, true);
    for_each_target([&] {
      expect_same_bits(run_forward(c, {true, c.B, 0}, true).y, run_forward(c, {true, c.B, 0}).y,
                       "apply");
    });
  }
}

TEST(LayerNorm, NanSpoilsItsRowAndNoOther) {
  NormCase c({1, 3, 19}, true);
  c.x[19 + 18] = std::numeric_limits<float>::quiet_NaN();
  for_each_target([&] {
    const Values y = run_forward(c, {true, 1, 0}).y;
    for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(std::isnan(y[i]), i / 19 == 1) << i;
  });
}

TEST(LayerNorm, GradientsAreTheDerivatives) {
  NormCase c({2, 2, 5}, true);
  for (Values* before : {&c.dx, &c.dgamma, &c.dbeta})
    std::fill(before->begin(), before->end(), 0.0f);
  const Values gradient = run_backward(c, run_forward(c, {false, 2, 0}), {false, 2, 0});
  const auto loss = [&] { return weighted_sum(run_forward(c, {false, 2, 0}).y, c.dy); };
  std::size_t i = 0;
  for (Values* input : {&c.x, &c.gamma, &c.beta}) {
    for (float& value : *input) {
      const double expected = numeric_derivative(loss, value);
      EXPECT_NEAR(gradient[i], expected, kDerivativeTolerance * (1.0 + std::abs(expected))) << i;
      ++i;
    }
  }
}

}  // namespace
}  // namespace snug::cpu::testing
