#include "backend/cpu/bandwidth.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/bandwidth.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h:
#include <hwy/cache_control.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "backend/cpu/kernels/chunks.h"
#include "backend/cpu/kernels/vectors-inl.h"
#include "base/bytes.h"
#include "base/dtype.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace snug::cpu::HWY_NAMESPACE {

// z = x + y of elements [begin, end), multiples of a cache line. Stores go past the caches: a line
// of z that is read first to be written whole would be traffic that nobody asked for.
void add_streaming(const float* x, const float* y, float* z, std::int64_t begin, std::int64_t end) {
  const hn::ScalableTag<float> d;
  for (std::int64_t i = begin; i < end; i += lane_count(d)) {
    hn::Stream(hn::Add(hn::Load(d, x + i), hn::Load(d, y + i)), d, z + i);
  }
  hwy::FlushStream();
}

}  // namespace snug::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace snug::cpu {

HWY_EXPORT(add_streaming);

double measure_bandwidth(const Arena& of_run) {
  using Clock = std::chrono::steady_clock;
  // A third of it is no power of two: arrays that lie so apart get in each other's way.
  constexpr std::int64_t kMaxBytes = 700 * kMiB, kMinBytes = 384 * kMiB;
  constexpr int kRepeats = 7;
  std::optional<Arena> own;
  if (of_run.byte_count() < kMinBytes) own.emplace(kMaxBytes);
  const Arena& arena = own ? *own : of_run;
  const std::int64_t room = std::min(kMaxBytes, arena.byte_count()) / (3 * size_of(DType::kF32));
  const std::int64_t count = room / kChunk * kChunk;
  auto* x = reinterpret_cast<float*>(arena.data());
  float *y = x + count, *z = y + count;
  const auto for_all = [&](auto&& work) { for_each_range(count, 16 * kChunk, 1, work); };
  for_all([&](std::int64_t begin, std::int64_t end) {  // what lies there may be slow to add
    std::fill(x + begin, x + end, 0.0f);
    std::fill(y + begin, y + end, 0.0f);
  });
  double best = 0;
  for (int i = 0; i < kRepeats; ++i) {
    const Clock::time_point start = Clock::now();
    for_all([&](std::int64_t begin, std::int64_t end) {
      HWY_DYNAMIC_DISPATCH(add_streaming)(x, y, z, begin, end);
    });
    const std::chrono::duration<double> taken = Clock::now() - start;
    const auto bytes = static_cast<double>(3 * count * size_of(DType::kF32));
    best = std::max(best, bytes / taken.count());
  }
  return best;
}

}  // namespace snug::cpu
#endif  // HWY_ONCE
