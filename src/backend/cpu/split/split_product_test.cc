#include "backend/cpu/split/split_product.h"

#include <omp.h>

#include "backend/cpu/product_testing.h"
#include "backend/cpu/split/amx.h"

namespace snug::cpu {
namespace {

using testing::Array;
using testing::expect_product;
using testing::expect_same_bits;
using testing::make_operands;
using testing::normal_values;
using testing::Operands;
using testing::ThreadCount;
using testing::Values;

// Runs in a workspace of that size, which starts as NaN; the bytes after it must not change.
void run_in(const SplitProduct& p, std::int64_t scratch_bytes) {
  const auto floats = static_cast<std::size_t>(scratch_bytes) / sizeof(float);
  Values before(floats + 64, NAN);
  std::fill(before.begin() + static_cast<std::ptrdiff_t>(floats), before.end(), 7.0f);
  const Array scratch(before, 0);
  ASSERT_TRUE(run_split_product(p, {reinterpret_cast<std::byte*>(scratch.data()), scratch_bytes}));
  for (std::size_t i = floats; i < before.size(); ++i) ASSERT_EQ(scratch.data()[i], 7.0f);
}

// Operands `misalignment` floats off alignment.
Values run(const GemmShape& s, const Operands& x, std::int64_t sequence = 0, int misalignment = 0) {
  const Array a(x.a, misalignment), b(x.b, misalignment), bias(x.bias, misalignment),
      c(x.c, misalignment);
  SplitProduct p = split_product(s);
  p.a.data = a.data(), p.b.data = b.data(), p.c = c.data();
  p.bias = s.bias ? bias.data() : nullptr;
  p.sequence = sequence;
  run_in(p, split_scratch_bytes(p, omp_get_max_threads()));
  return c.values();
}

// A split term is six additions, but five of them are small: a fourth of a rounding per term, and
// the six.
void expect_split_product(const GemmShape& s, const Operands& x, const Values& c) {
  SCOPED_TRACE(::testing::Message()
               << "(" << s.m << ", " << s.k << ") * (" << s.k << ", " << s.n << ")"
               << (s.transpose_a ? " a^T" : "") << (s.transpose_b ? " b^T" : "")
               << (s.bias ? " bias" : "") << (s.accumulate ? " +=" : ""));
  testing::expect_product(s, x, c, static_cast<double>(s.k) / 4 + 6);
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
          GemmShape s{m, n, k, (way & 1) != 0, (way & 2) != 0};
          const Operands x = testing::make_operands(s);
          expect_split_product(s, x, run(s, x, 0, way));
          s.bias = true;
          expect_split_product(s, x, run(s, x, 0, way));
          s.bias = false, s.accumulate = true;
          expect_split_product(s, x, run(s, x, 37, way));
        }
      }
    }
  }
}

// Large enough for several sections of columns and of the contraction.
TEST_F(SplitProductTest, IsTheProductInSections) {
  const GemmShape s{.m = 70, .n = 1100, .k = 1700, .transpose_b = true};
  const Operands x = testing::make_operands(s);
  expect_split_product(s, x, run(s, x));
}

// Sums that grow with every term round by their full size each time: within float32's own bound.
TEST_F(SplitProductTest, IsTheProductOfPositiveNumbers) {
  for (const std::int64_t k : {40, 800, 3000}) {
    const GemmShape s{.m = 40, .n = 40, .k = k, .transpose_b = true};
    Operands x = testing::make_operands(s);
    for (float& value : x.a) value = std::abs(value);
    for (float& value : x.b) value = std::abs(value);
    testing::expect_product(s, x, run(s, x), static_cast<double>(k + 1));
  }
}

// Few panels for many threads; relays that hold A or B, and gradients too large for one.
TEST_F(SplitProductTest, ThreadsChangeNoBit) {
  struct Case {
    GemmShape shape;
    std::int64_t sequence;
  };
  const auto gradient = [](std::int64_t m, std::int64_t n, std::int64_t k) {
    return GemmShape{.m = m, .n = n, .k = k, .transpose_a = true, .accumulate = true};
  };
  for (const auto& [s, sequence] :
       {Case{{.m = 300, .n = 70, .k = 200, .transpose_b = true}, 0},
        Case{{.m = 64, .n = 64, .k = 64, .transpose_b = true}, 0},
        Case{{.m = 96, .n = 96, .k = 96}, 0}, Case{gradient(40, 700, 900), 100},
        Case{gradient(800, 90, 1700), 100}, Case{gradient(130, 500, 500), 64},
        Case{gradient(550, 600, 300), 64}}) {
    const Operands x = testing::make_operands(s);
    Values one;
    {
      const ThreadCount scope(1);
      one = run(s, x, sequence);
    }
    for (const int threads : {2, 3, 4, 5, 12, 20}) {
      const ThreadCount scope(threads);
      testing::expect_same_bits(run(s, x, sequence), one, "c");
    }
  }
}

TEST_F(SplitProductTest, RowsDoNotKnowTheirNeighbours) {
  const GemmShape all{.m = 96, .n = 130, .k = 150, .transpose_b = true};
  const Operands x = testing::make_operands(all);
  const Values whole = run(all, x);
  GemmShape one = all;
  one.m = 1;
  for (const std::int64_t row : {0, 31, 40, 95}) {
    Operands y = x;
    y.a.assign(x.a.begin() + row * all.k, x.a.begin() + (row + 1) * all.k);
    const Values alone = run(one, y);
    testing::expect_same_bits(
        Values(alone.begin(), alone.begin() + all.n),
        Values(whole.begin() + row * all.n, whole.begin() + (row + 1) * all.n), "row");
  }
}

// A weight's gradient: sequences in one call, one by one, and one of them cut where the loss head
// may cut it.
TEST_F(SplitProductTest, SumsOverSequencesMayBeSpreadOverCalls) {
  for (const std::int64_t T : {64, 65, 300}) {
    const std::int64_t B = 5, m = 150, n = 90;
    const Values dy = testing::normal_values(B * T * m, 1),
                 x = testing::normal_values(B * T * n, 2);
    const auto gradient = [&](std::int64_t terms) {
      SplitProduct p =
          split_product({.m = m, .n = n, .k = terms, .transpose_a = true, .accumulate = true});
      p.sequence = T;
      return p;
    };
    const auto sum = [&](const std::vector<std::int64_t>& borders) {
      const Array c(testing::normal_values(m * n, 3), 0), a(dy, 0), b(x, 0);
      const std::int64_t planned = split_scratch_bytes(gradient(B * T), omp_get_max_threads());
      for (std::size_t i = 0; i + 1 < borders.size(); ++i) {
        SplitProduct p = gradient(borders[i + 1] - borders[i]);
        p.a.data = a.data() + borders[i] * m, p.b.data = b.data() + borders[i] * n;
        p.c = c.data();
        p.offset = borders[i] % T;
        run_in(p, planned);
      }
      return c.values();
    };
    const Values together = sum({0, B * T});
    testing::expect_same_bits(sum({0, T, 2 * T, 3 * T, 4 * T, 5 * T}), together, "c");
    testing::expect_same_bits(sum({0, 2 * T, 5 * T}), together, "c");
    if (T > 256)
      testing::expect_same_bits(sum({0, 256, T + 256, 3 * T, 3 * T + 256, 5 * T}), together, "c");
  }
}

// Scratch is booked for the whole batch; with fewer sequences another way of dividing may be taken.
TEST_F(SplitProductTest, FewerTermsNeedNoMoreScratch) {
  constexpr std::int64_t T = 33, m = 150;
  // On two threads a relay of as much as it may have, and too much for one.
  for (const auto& [max_sequences, n] :
       {std::pair{24, 20}, {24, 250}, {80, 20}, {80, 90}, {80, 250}}) {
    const Array a(testing::normal_values(max_sequences * T * m, 1), 0),
        b(testing::normal_values(max_sequences * T * n, 2), 0);
    const auto gradient = [&](std::int64_t sequences) {
      SplitProduct p = split_product(
          {.m = m, .n = n, .k = sequences * T, .transpose_a = true, .accumulate = true});
      p.sequence = T;
      p.a.data = a.data(), p.b.data = b.data();
      return p;
    };
    for (const std::int64_t sequences : {1, 3, 6, 11, 23, 24, 25, 40, 60, 80}) {
      if (sequences > max_sequences) break;
      SCOPED_TRACE(::testing::Message() << "n " << n << ", " << sequences << " sequences");
      Values by_one;
      for (const int threads : {1, 2, 3}) {
        const ThreadCount count(threads);
        const Array c(Values(static_cast<std::size_t>(m * n)), 0);
        SplitProduct p = gradient(sequences);
        p.c = c.data();
        run_in(p, split_scratch_bytes(gradient(max_sequences), threads));
        if (threads == 1) by_one = c.values();
        testing::expect_same_bits(c.values(), by_one, "c");
      }
    }
  }
}

// Very large and very small numbers, as far as bfloat16's exponent goes down.
TEST_F(SplitProductTest, KeepsTheRangeOfFloat) {
  const GemmShape s{.m = 2, .n = 2, .k = 2, .transpose_b = true};
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
      const GemmShape s{33, 33, 64, (way & 1) != 0, (way & 2) != 0};
      Operands x = testing::make_operands(s);
      for (std::int64_t i = 0; i < s.m; ++i) {
        for (std::int64_t k = 0; k < s.k; ++k) {
          if (k % 3 == 0) continue;
          const auto a = static_cast<std::size_t>(s.transpose_a ? k * s.m + i : i * s.k + k);
          const auto b = static_cast<std::size_t>(s.transpose_b ? i * s.k + k : k * s.n + i);
          (k % 3 == 1 ? x.a[a] : x.b[b]) = small;
        }
      }
      expect_split_product(s, x, run(s, x));
    }
  }
}

TEST_F(SplitProductTest, LetsNoNaNOrInfinityPassForANumber) {
  for (const float bad : {NAN, INFINITY, -INFINITY}) {
    const GemmShape s{.m = 40, .n = 40, .k = 40, .transpose_b = true};
    Operands x = testing::make_operands(s);
    x.a[40 * 3 + 7] = bad;
    const Values c = run(s, x);
    for (std::size_t j = 0; j < 40; ++j) EXPECT_FALSE(std::isfinite(c[3 * 40 + j]));
    EXPECT_TRUE(std::isfinite(c[4 * 40]));
  }
}

}  // namespace
}  // namespace snug::cpu
