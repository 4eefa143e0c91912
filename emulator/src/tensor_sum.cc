#include "tensor_sum.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <string_view>

namespace emulator {
namespace {

std::atomic<bool> g_cut_off{sums_are_cut_off_by_environment()};

// The place of the bit below the last of a float of this magnitude.
double place_below(double magnitude) {
  constexpr std::uint64_t kExponent = 0x7FF0000000000000;
  constexpr double kBelow = 0x1p-24, kLeast = 0x1p-1000;
  const auto leading = std::bit_cast<double>(std::bit_cast<std::uint64_t>(magnitude) & kExponent);
  return std::max(leading * kBelow, kLeast);
}

float cut_to_float(double sum) {
  const auto nearest = static_cast<float>(sum);
  const bool is_away = std::abs(static_cast<double>(nearest)) > std::abs(sum);
  return is_away ? std::bit_cast<float>(std::bit_cast<std::uint32_t>(nearest) - 1) : nearest;
}

}  // namespace

bool sums_are_cut_off() { return g_cut_off.load(std::memory_order_relaxed); }
void set_sums_cut_off(bool cut_off) { g_cut_off = cut_off; }

bool sums_are_cut_off_by_environment() {
  const char* sums = std::getenv("EMULATOR_SUMS");
  return sums != nullptr && std::string_view(sums) == "cut";
}

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
__attribute__((target_clones("avx512f", "avx2", "default")))
#endif
void add_cut_off(float* sums, const float* a, std::int64_t m, std::int64_t rows, const float* b,
                 std::int64_t terms) {
  double products[kTermsAtOnce][kSumsAtOnce], place[kSumsAtOnce], total[kSumsAtOnce];
  for (std::int64_t r = 0; r < rows; ++r) place[r] = std::abs(static_cast<double>(sums[r]));
  for (std::int64_t k = 0; k < terms; ++k) {
    for (std::int64_t r = 0; r < rows; ++r) {
      products[k][r] = static_cast<double>(a[k * m + r]) * static_cast<double>(b[k]);
      place[r] = std::max(place[r], std::abs(products[k][r]));
    }
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    place[r] = place_below(place[r]);
    total[r] = std::trunc(static_cast<double>(sums[r]) / place[r]) * place[r];
  }
  for (std::int64_t k = 0; k < terms; ++k) {
    for (std::int64_t r = 0; r < rows; ++r) {
      total[r] += std::trunc(products[k][r] / place[r]) * place[r];
    }
  }
  for (std::int64_t r = 0; r < rows; ++r) sums[r] = cut_to_float(total[r]);
}

}  // namespace emulator
