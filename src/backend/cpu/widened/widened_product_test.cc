// Products of 16-bit operands against sums in double, over odd shapes, layouts and instruction
// sets; and their bits over splits and threads.
#include "backend/cpu/widened/widened_product.h"

#include <gtest/gtest.h>

#include "backend/cpu/kernels/kernel_testing.h"
#include "backend/cpu/split/amx.h"
#include "backend/cpu/widened/one_row.h"
#include "backend/cpu/widened/tile_product.h"

namespace snug::cpu::testing {
namespace {

struct Case {
  std::int64_t m, n, k;
  bool transpose_a, transpose_b, accumulate, bias;
};

constexpr Case kCases[] = {
    {1, 1, 1, false, true, false, false},       {37, 70, 129, false, true, false, true},
    {200, 33, 300, false, false, false, false}, {13, 200, 257, true, false, true, false},
    {96, 96, 128, true, false, true, false},    {300, 250, 64, false, true, false, false},
};

template <class X>
struct Operands {
  std::vector<X> a, b;
  Values bias, c;
  std::vector<X> y;
  std::vector<std::byte> scratch;

  explicit Operands(const Case& s)
      : a(narrow(s.m * s.k, 1)),
        b(narrow(s.k * s.n, 2)),
        bias(normal_values(s.n, 3)),
        c(normal_values(s.m * s.n, 4)),
        y(static_cast<std::size_t>(s.m * s.n)),
        scratch(static_cast<std::size_t>(widened_scratch_bytes(omp_get_max_threads())) + 64) {}

  static std::vector<X> narrow(std::int64_t count, std::uint32_t seed) {
    std::vector<X> all;
    for (const float value : normal_values(count, seed)) all.push_back(nearest<X>(value));
    return all;
  }
  Scratch aligned() {
    const auto at = reinterpret_cast<std::uintptr_t>(scratch.data());
    return {scratch.data() + (64 - at % 64) % 64, std::ssize(scratch) - 64};
  }
};

template <class X>
WidenedProductOn<X> product_of(const Case& s, Operands<X>& operands) {
  auto p = widened_product<X>({.m = s.m,
                               .n = s.n,
                               .k = s.k,
                               .transpose_a = s.transpose_a,
                               .transpose_b = s.transpose_b,
                               .accumulate = s.accumulate,
                               .bias = s.bias,
                               .one_thread = false});
  p.a.data = operands.a.data();
  p.b.data = operands.b.data();
  if (s.bias) p.bias = operands.bias.data();
  if (s.accumulate) {
    p.c = operands.c.data();
  } else {
    p.y = operands.y.data();
  }
  return p;
}

template <class X>
class WidenedProduct : public ::testing::Test {};
using Types = ::testing::Types<Bf16, F16>;
TYPED_TEST_SUITE(WidenedProduct, Types);

void run_tiles(const WidenedProductOn<Bf16>& product, const Scratch&) {
  const int threads = omp_get_max_threads();
  const std::int64_t bytes = tile_scratch_bytes(product, threads);
  std::vector<std::byte> scratch(static_cast<std::size_t>(bytes) + 64);
  const auto at = reinterpret_cast<std::uintptr_t>(scratch.data());
  run_tile_product(product, {scratch.data() + (64 - at % 64) % 64, bytes});
}

template <class X, class Run>
void check_product(const Case& s, Run run, double precision) {
  Operands<X> operands(s);
  const Values before = operands.c;
  run(product_of(s, operands), operands.aligned());
  for (std::int64_t i = 0; i < s.m; ++i) {
    for (std::int64_t j = 0; j < s.n; ++j) {
      const auto at = static_cast<std::size_t>(i * s.n + j);
      double sum = s.accumulate ? before[at] : s.bias ? operands.bias[j] : 0, size = std::abs(sum);
      for (std::int64_t k = 0; k < s.k; ++k) {
        const double a = to_float(operands.a[s.transpose_a ? k * s.m + i : i * s.k + k]);
        const double b = to_float(operands.b[s.transpose_b ? j * s.k + k : k * s.n + j]);
        sum += a * b;
        size += std::abs(a * b);
      }
      const double found = s.accumulate ? operands.c[at] : to_float(operands.y[at]);
      const double rounding = s.accumulate ? 0 : precision * std::abs(sum);
      ASSERT_NEAR(found, sum, 4 * kRound * size + rounding + 1e-7) << i << ", " << j;
    }
  }
}

TYPED_TEST(WidenedProduct, IsTheProductRoundedOnce) {
  using X = TypeParam;
  for_each_target([&] {
    for (const Case& s : kCases) {
      check_product<X>(s, run_widened_product<X>, std::is_same_v<X, Bf16> ? 0x1p-8 : 0x1p-11);
    }
  });
}

template <class X>
void run_row(const WidenedProductOn<X>& product, const Scratch&) {
  ASSERT_TRUE(is_one_row(product));
  run_one_row(product);
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

TEST(TileProduct, IsTheProductRoundedOnce) {
  if (!amx_usable()) GTEST_SKIP() << "no AMX here";
  for (const Case& s : kCases) check_product<Bf16>(s, run_tiles, 0x1p-8);
  // A contraction so long that sums wait in scratch, with more rows than a task has then.
  check_product<Bf16>({1100, 40, 4200, false, false, false, false}, run_tiles, 0x1p-8);
}

// A gradient summed over two sequences at once or one after the other, from any chunk on.
template <class X, class Run>
void check_bits(Run run) {
  constexpr std::int64_t kT = 300;
  const Case s{50, 70, 2 * kT, true, false, true, false};
  Operands<X> whole(s), parts(s);
  auto p = product_of(s, whole);
  p.sequence = kT;
  run(p, whole.aligned());
  const ThreadCount one(1);
  for (const auto& [first, end] :
       {std::pair<std::int64_t, std::int64_t>{0, 256}, {256, 300}, {300, 600}}) {
    auto part = product_of(s, parts);
    part.k = end - first;
    part.a.data += first * s.m;
    part.b.data += first * s.n;
    part.sequence = kT;
    part.offset = first % kT;
    run(part, parts.aligned());
  }
  expect_same_bits(parts.c, whole.c, "parts");
}

TYPED_TEST(WidenedProduct, KeepsItsBitsOverCallsAndThreads) {
  check_bits<TypeParam>(run_widened_product<TypeParam>);
}

TEST(TileProduct, KeepsItsBitsOverCallsAndThreads) {
  if (!amx_usable()) GTEST_SKIP() << "no AMX here";
  check_bits<Bf16>(run_tiles);
}

}  // namespace
}  // namespace snug::cpu::testing
