#include "backend/cpu/widened/widened_product.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "backend/cpu/split/amx.h"
#include "backend/cpu/threads.h"
#include "backend/cpu/widened/one_row.h"
#include "backend/cpu/widened/widened_product_testing.h"

namespace snug::cpu::testing {
namespace {

template <class X>
class WidenedProduct : public ::testing::Test {};
using OperandTypes = ::testing::Types<Bf16, F16>;
TYPED_TEST_SUITE(WidenedProduct, OperandTypes);

TYPED_TEST(WidenedProduct, IsTheProductRoundedOnce) {
  using X = TypeParam;
  for_each_target([&] {
    for (const Case& s : kCases) {
      check_product<X>(s, run_widened_product<X>, std::is_same_v<X, Bf16> ? 0x1p-8 : 0x1p-11);
    }
  });
}

template <class X>
void run_row(const WidenedProductOn<X>& product, const Scratch& scratch) {
  ASSERT_TRUE(is_one_row(product));
  run_one_row(product, scratch);
}

TYPED_TEST(WidenedProduct, OfOneRowIsTheProductRoundedOnce) {
  using X = TypeParam;
  for_each_target([&] {
    for (const std::int64_t k : {1, 70, 1000}) {
      for (const bool bias : {false, true}) {
        check_product<X>({1, 300, k, false, true, false, bias}, run_row<X>,
                         std::is_same_v<X, Bf16> ? 0x1p-8 : 0x1p-11);
      }
    }
  });
}

// Each element as it would be alone: not by its place among the streams, nor by the threads.
TYPED_TEST(WidenedProduct, OfOneRowKeepsItsBitsOverCallsAndThreads) {
  using X = TypeParam;
  constexpr std::int64_t kLines = 301, kTerms = 1000;
  std::vector<X> row(kTerms), weight(kLines * kTerms);
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  for (X& x : row) x = nearest<X>(normal(random));
  for (X& x : weight) x = nearest<X>(normal(random));
  std::vector<float> place(kTerms), together(kLines), alone(kLines);
  const Scratch scratch{reinterpret_cast<std::byte*>(place.data()), one_row_scratch_bytes(kTerms)};
  auto product = widened_product<X>({.m = 1, .n = kLines, .k = kTerms, .transpose_b = true});
  product.a.data = row.data();
  product.b.data = weight.data();
  product.c = alone.data();
  product.n = 1;
  for (; product.c != alone.data() + kLines; ++product.c, product.b.data += kTerms) {
    run_row(product, scratch);
  }
  // Of 40 threads each has so few lines that they are taken one after another.
  for (const int threads : {1, 2, 3, 40}) {
    const ThreadCountScope scope(threads);
    product.b.data = weight.data(), product.c = together.data(), product.n = kLines;
    std::ranges::fill(together, std::nanf(""));  // nothing of the run before
    run_row(product, scratch);
    EXPECT_EQ(together, alone) << threads;
  }
}

TYPED_TEST(WidenedProduct, KeepsItsBitsOverCallsAndThreads) {
  check_bits<TypeParam>(run_widened_product<TypeParam>);
}

// On what this processor has; emulated_tiles_test runs the same on both units everywhere.
TEST(TileProduct, OnAmx) {
  if (!amx_usable()) GTEST_SKIP() << "no AMX here";
  check_tile_products(TileUnit::kAmx, 1060);
}

TEST(TileProduct, OnAvx512Bf16) {
  if (!avx512_bf16_usable()) GTEST_SKIP() << "no AVX512_BF16 here";
  check_tile_products(TileUnit::kAvx512Bf16, 1060);
}

}  // namespace
}  // namespace snug::cpu::testing
