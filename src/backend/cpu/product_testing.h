// Operands of a product and the triple loop in double that its result is held against.
#pragma once

#include "backend/cpu/gemm.h"
#include "backend/cpu/kernels/kernel_testing.h"

namespace snug::cpu::testing {

struct Operands {
  Values a, b, bias, c;
};

inline Operands make_operands(const GemmShape& s) {
  return {normal_values(s.m * s.k, 1), normal_values(s.k * s.n, 2), normal_values(s.n, 3),
          normal_values(s.m * s.n, 4)};
}

// Row-major (k, n), whatever way B is stored.
inline Values plain_b(const GemmShape& s, const Values& b) {
  if (!s.transpose_b) return b;
  Values plain(b.size());
  for (std::int64_t k = 0; k < s.k; ++k) {
    for (std::int64_t n = 0; n < s.n; ++n) {
      plain[static_cast<std::size_t>(k * s.n + n)] = b[static_cast<std::size_t>(n * s.k + k)];
    }
  }
  return plain;
}

// Holds every element to `roundings` roundings of the sum of its terms' sizes. A sum of k products,
// and a bias or what was there, errs by at most k + 1, in whatever order it is taken.
inline void expect_product(const GemmShape& s, const Operands& x, const Values& c,
                           double roundings) {
  const Values b = plain_b(s, x.b);
  std::vector<double> sum(static_cast<std::size_t>(s.n)), size(sum);
  for (std::int64_t m = 0; m < s.m; ++m) {
    for (std::size_t n = 0; n < sum.size(); ++n) {
      const std::size_t at = static_cast<std::size_t>(m * s.n) + n;
      sum[n] = s.accumulate ? x.c[at] : s.bias ? x.bias[n] : 0.0;
      size[n] = std::abs(sum[n]);
    }
    for (std::int64_t k = 0; k < s.k; ++k) {
      const double a = x.a[static_cast<std::size_t>(s.transpose_a ? k * s.m + m : m * s.k + k)];
      for (std::size_t n = 0; n < sum.size(); ++n) {
        const double term = a * b[static_cast<std::size_t>(k * s.n) + n];
        sum[n] += term;
        size[n] += std::abs(term);
      }
    }
    for (std::size_t n = 0; n < sum.size(); ++n) {
      const double bound = roundings * kRound * size[n];
      ASSERT_NEAR(c[static_cast<std::size_t>(m * s.n) + n], sum[n], bound)
          << "at (" << m << ", " << n << ")";
    }
  }
}

}  // namespace snug::cpu::testing
