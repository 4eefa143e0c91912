#include "backend/cpu/bandwidth.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "backend/cpu/kernels/chunks.h"
#include "base/bytes.h"
#include "base/dtype.h"

namespace snug::cpu {

double measure_bandwidth(const Arena& of_run) {
  using Clock = std::chrono::steady_clock;
  // A third of it is no power of two: arrays that lie so apart get in each other's way.
  constexpr std::int64_t kMaxBytes = 700 * kMiB, kMinBytes = 384 * kMiB;
  constexpr int kRepeats = 5;
  std::optional<Arena> own;
  if (of_run.byte_count() < kMinBytes) own.emplace(kMaxBytes);
  const Arena& arena = own ? *own : of_run;
  const std::int64_t count = std::min(kMaxBytes, arena.byte_count()) / (3 * size_of(DType::kF32));
  auto* x = reinterpret_cast<float*>(arena.data());
  float *y = x + count, *z = y + count;
  const auto for_all = [&](auto&& work) {
    for_each_range(count, 16 * kChunk, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t n = begin; n < end; ++n) work(n);
    });
  };
  for_all([&](std::int64_t n) { x[n] = y[n] = 0; });  // what lies there may be slow to add
  double best = 0;
  for (int i = 0; i < kRepeats; ++i) {
    const Clock::time_point start = Clock::now();
    for_all([&](std::int64_t n) { z[n] = x[n] + y[n]; });
    const std::chrono::duration<double> taken = Clock::now() - start;
    const auto bytes = static_cast<double>(3 * count * size_of(DType::kF32));
    best = std::max(best, bytes / taken.count());
  }
  return best;
}

}  // namespace snug::cpu
