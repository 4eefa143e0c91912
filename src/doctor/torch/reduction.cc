#include "doctor/torch/reduction.h"

#include <algorithm>
#include <bit>

#include "base/bytes.h"

namespace snug {
namespace {

constexpr std::int64_t kWarp = 32;
constexpr std::int64_t kMostThreads = 512;
constexpr std::int64_t kThreadsPerMultiprocessor = 1536;  // sm_86, sm_89
constexpr std::int64_t kFewestValuesPerThread = 16;
constexpr std::int64_t kMostValuesPerThread = 256;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

std::int64_t last_power_of_two(std::int64_t n) {
  return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(n)));
}

}  // namespace

// setReduceConfig's steps for a reduction that is not along the fastest dimension.
TorchReduction torch_column_sum(std::int64_t rows, std::int64_t columns,
                                std::int64_t multiprocessors) {
  const std::int64_t vector = columns % 4 == 0 ? 4 : (columns % 2 == 0 ? 2 : 1);
  const std::int64_t threads = kMostThreads / vector;
  const std::int64_t across = std::min(last_power_of_two(columns / vector), threads);
  const std::int64_t down = std::min(last_power_of_two(rows), threads);
  const std::int64_t height = std::min(down, threads / std::min(across, kWarp));
  const std::int64_t width = std::min(across, threads / height);
  if (rows < std::min(16 * height, kMostValuesPerThread)) return {};  // a warp takes whole columns
  const std::int64_t per_thread = ceil_div(rows, height);
  const std::int64_t grid = ceil_div(columns / vector, width);
  const std::int64_t target = multiprocessors * (kThreadsPerMultiprocessor / (width * height));
  if (per_thread < kMostValuesPerThread || grid > target) return {};
  const std::int64_t blocks =
      std::max(std::min(ceil_div(target, grid), ceil_div(per_thread, kFewestValuesPerThread)),
               ceil_div(per_thread, kMostValuesPerThread));
  if (blocks <= 1) return {};
  const std::int64_t values = checked_mul(checked_mul(columns, blocks), width * vector);
  return {checked_mul(values, 4), 4 * grid};
}

}  // namespace snug
