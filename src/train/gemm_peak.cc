#include "train/gemm_peak.h"

#include <algorithm>
#include <chrono>

#include "backend/cpu/gemm.h"
#include "base/bytes.h"

namespace snug {
namespace {

constexpr double kSecondsToMeasure = 0.15;

}  // namespace

double measure_gemm_peak(const cpu::Arena& arena) {
  using Clock = std::chrono::steady_clock;
  for (const std::int64_t side : {1024, 512, 256, 128}) {
    cpu::Gemm gemm({.m = side, .n = side, .k = side});
    const std::int64_t matrix_bytes = side * side * static_cast<std::int64_t>(sizeof(float));
    const std::int64_t scratch_bytes = align_up(gemm.scratch_bytes(), 64);
    if (3 * matrix_bytes + scratch_bytes > arena.byte_count()) continue;
    auto* a = reinterpret_cast<float*>(arena.data());
    float *b = a + side * side, *c = b + side * side;
    std::fill_n(a, 2 * side * side, 0.5f);
    gemm.prepare();
    const cpu::Gemm::Operands operands{a, b, nullptr, c, c + side * side};
    if (!gemm.run(operands)) return 0;  // also wakes the threads
    const Clock::time_point start = Clock::now();
    const double flops = 2.0 * static_cast<double>(side * side * side);
    double best = 0, elapsed = 0;
    while (elapsed < kSecondsToMeasure) {
      const Clock::time_point before = Clock::now();
      if (!gemm.run(operands)) return 0;
      const Clock::time_point after = Clock::now();
      best = std::max(best, flops / std::chrono::duration<double>(after - before).count());
      elapsed = std::chrono::duration<double>(after - start).count();
    }
    return best;
  }
  return 0;
}

}  // namespace snug
