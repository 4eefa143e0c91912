#include "backend/cpu/split/split_product.h"

#include <fmt/format.h>
#include <omp.h>

#include <string>

#include "backend/cpu/kernels/kernel_testing.h"
#include "backend/cpu/split/amx.h"

namespace snug::cpu {
namespace {

using testing::Array;
using testing::expect_same_bits;
using testing::kRound;
using testing::normal_values;
using testing::ThreadCount;
using testing::Values;

struct Case {
  std::int64_t m, n, k;
  bool a_along_stride = false, b_along_stride = false;
  bool accumulate = false, bias = false;
  std::int64_t sequence = 0;

  std::string name() const {
    return fmt::format("({}, {}, {}){}{}{}{} sequence {}", m, n, k, a_along_stride ? " a^T" : "",
                       b_along_stride ? " b^T" : "", accumulate ? " +=" : "", bias ? " bias" : "",
                       sequence);
  }
};

struct Operands {
  Values a, b, bias, c;
};

Operands make_operands(const Case& s) {
  return {normal_values(s.m * s.k, 1), normal_values(s.n * s.k, 2), normal_values(s.n, 3),
          normal_values(s.m * s.n, 4)};
}

// In a workspace of that size, which starts as NaN and must keep what lies behind it.
void run_in(const SplitProduct& p, std::int64_t scratch_bytes) {
  const auto floats = static_cast<std::size_t>(scratch_bytes) / sizeof(float);
  Values before(floats + 64, NAN);
  std::fill(before.begin() + static_cast<std::ptrdiff_t>(floats), before.end(), 7.0f);
  const Array scratch(before, 0);
  ASSERT_TRUE(run_split_product(p, reinterpret_cast<std::byte*>(scratch.data())));
  for (std::size_t i = floats; i < before.size(); ++i) ASSERT_EQ(scratch.data()[i], 7.0f);
}

// Operands `misalignment` floats off alignment.
Values run(const Case& s, const Operands& x, int misalignment = 0) {
  const Array a(x.a, misalignment), b(x.b, misalignment), bias(x.bias, misalignment),
      c(x.c, misalignment);
  SplitProduct p;
  p.m = s.m, p.n = s.n, p.k = s.k;
  p.a = {a.data(), s.a_along_stride ? s.m : s.k, s.a_along_stride, s.k};
  p.b = {b.data(), s.b_along_stride ? s.n : s.k, s.b_along_stride, s.k};
  p.c = c.data();
  p.bias = s.bias ? bias.data() : nullptr;
  p.accumulate = s.accumulate;
  p.sequence = s.sequence;
  run_in(p, split_scratch_bytes(p, omp_get_max_threads()));
  return c.values();
}

// Plain float products summed in any order err by at most k + 1 roundings of the sum of the terms'
// sizes. A split term is six additions, but five of them are small: hold it to a fourth of a
// rounding per term, and the six.
void expect_product(const Case& s, const Operands& x, const Values& c) {
  const auto at = [](const Values& v, std::int64_t i) { return v[static_cast<std::size_t>(i)]; };
  for (std::int64_t i = 0; i < s.m; ++i) {
    for (std::int64_t j = 0; j < s.n; ++j) {
      double sum = s.accumulate ? at(x.c, i * s.n + j) : s.bias ? at(x.bias, j) : 0;
      double size = std::abs(sum);
      for (std::int64_t k = 0; k < s.k; ++k) {
        const double term =
            static_cast<double>(at(x.a, s.a_along_stride ? k * s.m + i : i * s.k + k)) *
            at(x.b, s.b_along_stride ? k * s.n + j : j * s.k + k);
        sum += term;
        size += std::abs(term);
      }
      const double bound = (static_cast<double>(s.k) / 4 + 6) * kRound * size;
      ASSERT_NEAR(at(c, i * s.n + j), sum, bound) << s.name() << " at (" << i << ", " << j << ")";
    }
  }
}

class SplitProductTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!amx_usable()) GTEST_SKIP() << "this processor has no AMX, or it may not be used";
  }
};

TEST_F(SplitProductTest, IsTheProduct) {
  for (const std::int64_t m : {1, 16, 33, 100}) {
    for (const std::int64_t n : {1, 17, 64, 530}) {
      for (const std::int64_t k : {1, 16, 31, 130, 800}) {
        for (int way = 0; way < 4; ++way) {
          Case s{m, n, k, (way & 1) != 0, (way & 2) != 0};
          const Operands x = make_operands(s);
          expect_product(s, x, run(s, x, way));
          s.bias = true;
          expect_product(s, x, run(s, x, way));
          s.bias = false, s.accumulate = true, s.sequence = 37;
          expect_product(s, x, run(s, x, way));
        }
      }
    }
  }
}

// Large enough for several sections of columns and of the contraction.
TEST_F(SplitProductTest, IsTheProductInSections) {
  const Case s{70, 1100, 1700};
  const Operands x = make_operands(s);
  expect_product(s, x, run(s, x));
}

// The last two pass panels from thread to thread.
TEST_F(SplitProductTest, ThreadsChangeNoBit) {
  for (const Case& s : {Case{300, 70, 200}, Case{40, 700, 900, true, true, true, false, 100},
                        Case{800, 90, 1700, true, true, true, false, 100},
                        Case{130, 500, 500, true, true, true, false, 64}}) {
    const Operands x = make_operands(s);
    const Values one = [&] {
      const ThreadCount scope(1);
      return run(s, x);
    }();
    for (const int threads : {2, 3, 4, 12}) {
      const ThreadCount scope(threads);
      expect_same_bits(run(s, x), one, "c");
    }
  }
}

TEST_F(SplitProductTest, RowsDoNotKnowTheirNeighbours) {
  const Case all{96, 130, 150};
  const Operands x = make_operands(all);
  const Values whole = run(all, x);
  Case one = all;
  one.m = 1;
  for (const std::int64_t row : {0, 31, 40, 95}) {
    Operands y = x;
    y.a.assign(x.a.begin() + row * all.k, x.a.begin() + (row + 1) * all.k);
    const Values alone = run(one, y);
    expect_same_bits(Values(alone.begin(), alone.begin() + all.n),
                     Values(whole.begin() + row * all.n, whole.begin() + (row + 1) * all.n), "row");
  }
}

// A weight's gradient: sequences in one call, one by one, and one of them cut where the loss head
// may cut it.
TEST_F(SplitProductTest, SumsOverSequencesMayBeSpreadOverCalls) {
  for (const std::int64_t T : {64, 65, 300}) {
    const std::int64_t B = 5, m = 150, n = 90;
    const Values dy = normal_values(B * T * m, 1), x = normal_values(B * T * n, 2);
    const auto sum = [&](const std::vector<std::int64_t>& borders) {
      const Array c(normal_values(m * n, 3), 0), a(dy, 0), b(x, 0);
      SplitProduct whole;
      whole.m = m, whole.n = n, whole.k = B * T;
      whole.accumulate = true, whole.sequence = T;
      const std::int64_t planned = split_scratch_bytes(whole, omp_get_max_threads());
      for (std::size_t i = 0; i + 1 < borders.size(); ++i) {
        SplitProduct p;
        p.m = m, p.n = n, p.k = borders[i + 1] - borders[i];
        p.a = {a.data() + borders[i] * m, m, true, p.k};
        p.b = {b.data() + borders[i] * n, n, true, p.k};
        p.c = c.data();
        p.accumulate = true;
        p.sequence = T, p.offset = borders[i] % T;
        run_in(p, planned);
      }
      return c.values();
    };
    const Values together = sum({0, B * T});
    expect_same_bits(sum({0, T, 2 * T, 3 * T, 4 * T, 5 * T}), together, "c");
    expect_same_bits(sum({0, 2 * T, 5 * T}), together, "c");
    if (T > 256) expect_same_bits(sum({0, 256, T + 256, 3 * T, 3 * T + 256, 5 * T}), together, "c");
  }
}

// Very large and very small numbers, as far as bfloat16's exponent goes down.
TEST_F(SplitProductTest, KeepsTheRangeOfFloat) {
  const Case s{2, 2, 2};
  const Values c = run(s, {{1e30f, 3e-30f, 1e-20f, 0}, {1e8f, 3e30f, 1e-10f, 0}, {}, Values(4)});
  EXPECT_NEAR(c[0] / (1e30 * 1e8 + 9), 1, 1e-6);
  EXPECT_NEAR(c[1] / (1e30 * 1e-10), 1, 1e-6);
  EXPECT_NEAR(c[2] / (1e-20 * 1e8), 1, 1e-6);
  EXPECT_NEAR(c[3] / (1e-20 * 1e-10), 1, 1e-6);
}

// The third piece of a very small float is subnormal, with bits where its neighbour's are.
TEST_F(SplitProductTest, VerySmallNumbersLeaveTheirNeighboursAlone) {
  for (const float small : {1e-30f, 3.3e-35f, -1e-36f, 1.2e-38f, 4.6e-41f, -1.4e-45f}) {
    for (int way = 0; way < 4; ++way) {
      const Case s{33, 33, 64, (way & 1) != 0, (way & 2) != 0};
      Operands x = make_operands(s);
      for (std::int64_t i = 0; i < s.m; ++i) {
        for (std::int64_t k = 0; k < s.k; ++k) {
          if (k % 3 == 0) continue;
          const auto a = static_cast<std::size_t>(s.a_along_stride ? k * s.m + i : i * s.k + k);
          const auto b = static_cast<std::size_t>(s.b_along_stride ? k * s.n + i : i * s.k + k);
          (k % 3 == 1 ? x.a[a] : x.b[b]) = small;
        }
      }
      expect_product(s, x, run(s, x));
    }
  }
}

TEST_F(SplitProductTest, LetsNoNaNOrInfinityPassForANumber) {
  for (const float bad : {NAN, INFINITY, -INFINITY}) {
    const Case s{40, 40, 40};
    Operands x = make_operands(s);
    x.a[40 * 3 + 7] = bad;
    const Values c = run(s, x);
    for (std::size_t j = 0; j < 40; ++j) EXPECT_FALSE(std::isfinite(c[3 * 40 + j]));
    EXPECT_TRUE(std::isfinite(c[4 * 40]));
  }
}

}  // namespace
}  // namespace snug::cpu
