#include "backend/cpu/bandwidth.h"

#include <algorithm>
#include <chrono>

#include "backend/cpu/arena.h"
#include "backend/cpu/kernels/chunks.h"

namespace snug::cpu {

double measure_bandwidth() {
  using Clock = std::chrono::steady_clock;
  constexpr std::int64_t kCount = std::int64_t{64} << 20;  // floats of each array
  constexpr int kRepeats = 5;
  constexpr std::int64_t kBytes = 3 * kCount * static_cast<std::int64_t>(sizeof(float));
  const Arena arena(kBytes);
  const auto* x = reinterpret_cast<const float*>(arena.data());
  const float* y = x + kCount;
  float* z = reinterpret_cast<float*>(arena.data()) + 2 * kCount;
  double best = 0;
  for (int i = 0; i < kRepeats; ++i) {
    const Clock::time_point start = Clock::now();
    for_each_range(kCount, 16 * kChunk, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t n = begin; n < end; ++n) z[n] = x[n] + y[n];
    });
    const std::chrono::duration<double> taken = Clock::now() - start;
    best = std::max(best, static_cast<double>(kBytes) / taken.count());
  }
  return best;
}

}  // namespace snug::cpu
