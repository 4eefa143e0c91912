#include "backend/cpu/gemm.h"

#include <string>
#include <tuple>

#include "backend/cpu/product_testing.h"

namespace snug::cpu {
namespace {

using testing::Array;
using testing::expect_product;
using testing::expect_same_bits;
using testing::make_operands;
using testing::Operands;
using testing::Values;

constexpr std::int64_t kSizes[] = {1, 3, 16, 37, 65, 257};

// Operands `offset` floats off alignment; the workspace starts as NaN, not as what another product
// left there.
Values run(const Gemm& gemm, const Operands& x, int offset, int slot = 0) {
  const Array a(x.a, offset), b(x.b, offset), bias(x.bias, offset), c(x.c, offset);
  const Array scratch(
      Values(static_cast<std::size_t>(gemm.scratch_bytes() + 3) / sizeof(float), NAN), 0);
  EXPECT_TRUE(gemm.run({a.data(), b.data(), bias.data(), c.data(), scratch.data()}, slot));
  return c.values();
}

// transpose_a, transpose_b, and what is added: nothing, the bias, what is there.
class GemmProduct : public ::testing::TestWithParam<std::tuple<bool, bool, int>> {
 protected:
  template <class Check>
  void for_each_shape(bool one_thread, Check check) {
    GemmShape s;
    s.one_thread = one_thread;
    s.transpose_a = std::get<0>(GetParam());
    s.transpose_b = std::get<1>(GetParam());
    s.bias = std::get<2>(GetParam()) == 1;
    s.accumulate = std::get<2>(GetParam()) == 2;
    for (const std::int64_t m : kSizes) {
      for (const std::int64_t n : kSizes) {
        for (const std::int64_t k : kSizes) {
          s.m = m, s.n = n, s.k = k;
          Gemm gemm(s);
          gemm.prepare();
          SCOPED_TRACE(::testing::Message() << "(" << m << ", " << k << ") * (" << k << ", " << n
                                            << ") by " << gemm.implementation());
          check(s, gemm);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
};

TEST_P(GemmProduct, AgreesWithTheTripleLoop) {
  for (const bool one_thread : {false, true}) {
    for_each_shape(one_thread, [](const GemmShape& s, const Gemm& gemm) {
      const Operands x = testing::make_operands(s);
      testing::expect_product(s, x, run(gemm, x, 0), static_cast<double>(s.k + 1));
    });
  }
}

TEST_P(GemmProduct, HasTheSameBitsAgainAndAtAnyAlignment) {
  for (const bool one_thread : {false, true}) {
    for_each_shape(one_thread, [](const GemmShape& s, const Gemm& gemm) {
      const Operands x = testing::make_operands(s);
      const Values once = run(gemm, x, 0);
      testing::expect_same_bits(run(gemm, x, 0), once, "again");
      for (const int offset : {1, 3})
        testing::expect_same_bits(run(gemm, x, offset), once, "misaligned");
    });
  }
}

std::string layout_name(const ::testing::TestParamInfo<std::tuple<bool, bool, int>>& param_info) {
  const auto& [transpose_a, transpose_b, added] = param_info.param;
  const char* names[] = {"", "PlusBias", "PlusC"};
  return std::string(transpose_a ? "At" : "A") + (transpose_b ? "Bt" : "B") + names[added];
}

INSTANTIATE_TEST_SUITE_P(Layouts, GemmProduct,
                         ::testing::Combine(::testing::Bool(), ::testing::Bool(),
                                            ::testing::Values(0, 1, 2)),
                         layout_name);

// Which slot, on which thread and beside how many others: none of it is seen in the result.
TEST(GemmSlots, HaveTheSameBitsSideBySide) {
  for (const std::int64_t rows : {3, 37, 65}) {
    GemmShape s{.m = rows, .n = 257, .k = 65, .transpose_b = true, .bias = true};
    s.one_thread = true;
    Gemm gemm(s);
    constexpr int kSlots = 4;
    gemm.prepare(kSlots);
    const Operands x = testing::make_operands(s);
    const Values alone = run(gemm, x, 0);
    std::vector<Values> results(64);
#pragma omp parallel for schedule(dynamic, 1) num_threads(kSlots)
    for (std::size_t i = 0; i < results.size(); ++i) {
      results[i] = run(gemm, x, static_cast<int>(i % 3), omp_get_thread_num());
    }
    for (const Values& result : results) testing::expect_same_bits(result, alone, "side by side");
  }
}

TEST(GemmCache, DescribesAShapeOnce) {
  GemmCache gemms(1);
  const GemmShape shape{.m = 3, .n = 4, .k = 5};
  const Gemm* first = &gemms.get(shape);
  EXPECT_EQ(&gemms.get(shape), first);
  GemmShape other = shape;
  other.transpose_b = true;
  EXPECT_NE(&gemms.get(other), first);
}

}  // namespace
}  // namespace snug::cpu
