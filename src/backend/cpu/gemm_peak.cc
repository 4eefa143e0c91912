#include "backend/cpu/gemm_peak.h"

#include <omp.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "backend/cpu/gemm.h"
#include "backend/cpu/split/amx.h"
#include "backend/cpu/split/split_product.h"
#include "backend/cpu/widened/tile_product.h"
#include "backend/cpu/widened/widened_product.h"
#include "base/bytes.h"

namespace snug::cpu {
namespace {

constexpr double kSecondsToMeasure = 0.15;

// FLOP/s of run(), the best of many; 0 when it fails.
template <class Run>
double best_rate(double flops, const Run& run) {
  using Clock = std::chrono::steady_clock;
  if (!run()) return 0;  // also wakes the threads
  const Clock::time_point start = Clock::now();
  double best = 0, elapsed = 0;
  while (elapsed < kSecondsToMeasure) {
    const Clock::time_point before = Clock::now();
    if (!run()) return 0;
    const Clock::time_point after = Clock::now();
    best = std::max(best, flops / std::chrono::duration<double>(after - before).count());
    elapsed = std::chrono::duration<double>(after - start).count();
  }
  return best;
}

// Three square matrices and a workspace, in the arena.
struct Square {
  Square(const Arena& arena, std::int64_t side)
      : a(reinterpret_cast<float*>(arena.data())),
        b(a + side * side),
        c(b + side * side),
        scratch{reinterpret_cast<std::byte*>(c + side * side), 0} {
    scratch.byte_count = arena.byte_count() - (scratch.data - arena.data());
    std::fill_n(a, 2 * side * side, 0.5f);
  }
  float *a, *b, *c;
  Scratch scratch;
};

bool has_room(const Arena& arena, std::int64_t side, std::int64_t scratch_bytes) {
  const std::int64_t matrix_bytes = side * side * static_cast<std::int64_t>(sizeof(float));
  return 3 * matrix_bytes + align_up(scratch_bytes, 64) <= arena.byte_count();
}

// FLOP/s, or nothing where the arena is too small. On AMX and through oneDNN, as linear ops go.
std::optional<double> rate_of_split(const Arena& arena, std::int64_t side, double flops) {
  SplitProduct product = split_product({.m = side, .n = side, .k = side});
  if (!has_room(arena, side, split_scratch_bytes(product, omp_get_max_threads()))) return {};
  const Square matrices(arena, side);
  product.a.data = matrices.a, product.b.data = matrices.b, product.c = matrices.c;
  return best_rate(flops, [&] { return run_split_product(product, matrices.scratch); });
}

// Of 16-bit operands, by a unit that multiplies them or widened.
template <class X>
std::optional<double> rate_in_16_bits(const Arena& arena, std::int64_t side, double flops,
                                      std::optional<TileUnit> unit) {
  auto product = widened_product<X>({.m = side, .n = side, .k = side});
  std::int64_t bytes = widened_scratch_bytes(side, side, omp_get_max_threads());
  if constexpr (std::is_same_v<X, Bf16>) {
    if (unit) bytes = tile_scratch_bytes(product, omp_get_max_threads(), *unit);
  }
  if (!has_room(arena, side, bytes)) return {};
  const Square matrices(arena, side);
  std::fill_n(reinterpret_cast<X*>(matrices.a), 4 * side * side, nearest<X>(0.5f));
  product.a.data = reinterpret_cast<X*>(matrices.a);
  product.b.data = reinterpret_cast<X*>(matrices.b);
  product.y = reinterpret_cast<X*>(matrices.c);
  return best_rate(flops, [&] {
    if constexpr (std::is_same_v<X, Bf16>) {
      if (unit) return run_tile_product(product, matrices.scratch, *unit), true;
    }
    run_widened_product(product, matrices.scratch);
    return true;
  });
}

std::optional<double> rate_of_onednn(const Arena& arena, std::int64_t side, double flops) {
  Gemm gemm({.m = side, .n = side, .k = side});
  if (!has_room(arena, side, gemm.scratch_bytes())) return {};
  const Square matrices(arena, side);
  gemm.prepare();
  return best_rate(flops, [&] {
    return gemm.run({matrices.a, matrices.b, nullptr, matrices.c, matrices.scratch.data});
  });
}

}  // namespace

double measure_gemm_peak(const Arena& arena, DType precision) {
  for (const std::int64_t side : {1024, 512, 256, 128, 64, 32}) {
    const double flops = 2.0 * static_cast<double>(side * side * side);
    const auto rate = precision == DType::kBF16
                          ? rate_in_16_bits<Bf16>(arena, side, flops, tile_unit())
                      : precision == DType::kF16 ? rate_in_16_bits<F16>(arena, side, flops, {})
                      : amx_usable()             ? rate_of_split(arena, side, flops)
                                                 : rate_of_onednn(arena, side, flops);
    if (rate) return *rate;
  }
  return 0;
}

}  // namespace snug::cpu
