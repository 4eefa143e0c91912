// What the tests of products of 16-bit operands share: operands of odd shapes and layouts, a check
// against sums in double, and one of bits over calls and threads.
#pragma once

#include <gtest/gtest.h>

#include "backend/cpu/kernels/kernel_testing.h"
#include "backend/cpu/widened/tile_product.h"
#include "backend/cpu/widened/widened_product.h"

namespace snug::cpu::testing {

struct Case {
  std::int64_t m, n, k;
  bool transpose_a, transpose_b, accumulate, bias;
};

inline constexpr Case kCases[] = {
    {1, 1, 1, false, true, false, false},       {37, 70, 129, false, true, false, true},
    {200, 33, 300, false, false, false, false}, {13, 200, 257, true, false, true, false},
    {96, 96, 128, true, false, true, false},    {300, 250, 64, false, true, false, false},
};

template <class X>
struct NarrowOperands {
  std::vector<X> a, b;
  Values bias, c;
  std::vector<X> y;
  std::vector<std::byte> scratch;

  explicit NarrowOperands(const Case& s)
      : a(narrow(s.m * s.k, 1)),
        b(narrow(s.k * s.n, 2)),
        bias(normal_values(s.n, 3)),
        c(normal_values(s.m * s.n, 4)),
        y(static_cast<std::size_t>(s.m * s.n)),
        scratch(static_cast<std::size_t>(scratch_bytes(s)) + 64) {}

  // On all threads or on one.
  static std::int64_t scratch_bytes(const Case& s) {
    return std::max(widened_scratch_bytes(s.m, s.n, 1),
                    widened_scratch_bytes(s.m, s.n, omp_get_max_threads()));
  }
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
WidenedProductOn<X> product_of(const Case& s, NarrowOperands<X>& operands) {
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

template <class X, class Run>
void check_product(const Case& s, Run run, double precision) {
  NarrowOperands<X> operands(s);
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

// A gradient summed over two sequences at once or one after the other, from any chunk on.
template <class X, class Run>
void check_bits(Run run) {
  constexpr std::int64_t kT = 300;
  const Case s{50, 70, 2 * kT, true, false, true, false};
  NarrowOperands<X> whole(s), parts(s);
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

// On one unit, which must be there or emulated.
inline void run_tiles(const WidenedProductOn<Bf16>& product, TileUnit unit) {
  const int threads = omp_get_max_threads();
  const std::int64_t bytes = tile_scratch_bytes(product, threads, unit);
  std::vector<std::byte> scratch(static_cast<std::size_t>(bytes) + 64);
  const auto at = reinterpret_cast<std::uintptr_t>(scratch.data());
  run_tile_product(product, {scratch.data() + (64 - at % 64) % 64, bytes}, unit);
}

// `long_rows`: of a contraction so long that sums wait in scratch. With more than 1024 the rows are
// divided too.
inline void check_tile_products(TileUnit unit, std::int64_t long_rows) {
  const auto run = [&](const WidenedProductOn<Bf16>& p, const Scratch&) { run_tiles(p, unit); };
  for (const Case& s : kCases) check_product<Bf16>(s, run, 0x1p-8);
  check_product<Bf16>({long_rows, 8, 4120, false, false, false, false}, run, 0x1p-8);
  check_bits<Bf16>(run);
}

}  // namespace snug::cpu::testing
