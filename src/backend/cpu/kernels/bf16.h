// bfloat16, the upper half of a float, as it is kept in memory: the plain conversions, which
// bf16-inl.h repeats on vectors bit for bit.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "base/float16.h"

namespace snug::cpu {

constexpr std::uint16_t kBf16Largest = 0x7F7F;  // largest finite; one further is infinity

inline float bf16_to_float(std::uint16_t bits) noexcept { return to_float(Bf16{bits}); }

// x rounded stochastically, random16 < 2^16: where x lies a fraction f of the way from one bfloat16
// to the next one away from zero, f * 2^16 of the random numbers round up to it. So the mean over
// them is x, and what bfloat16 can hold, zero included, stays as it is. Infinity stays infinity and
// NaN stays NaN. A finite x does not become infinity: beyond the largest finite bfloat16 it is cut
// to that one, a bias at 3.4e38 alone.
inline std::uint16_t round_to_bf16(float x, std::uint32_t random16) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if (std::isnan(x)) return static_cast<std::uint16_t>(bits >> 16 | 0x40);  // quiet: never infinity
  if (std::isinf(x)) return static_cast<std::uint16_t>(bits >> 16);
  const std::uint32_t rounded = (bits + random16) >> 16;
  const bool overflow = (rounded & 0x7FFF) > kBf16Largest;
  return static_cast<std::uint16_t>(overflow ? bits >> 16 : rounded);
}

// x rounded to the nearest bfloat16, ties to even; NaN stays NaN.
inline std::uint16_t nearest_bf16(float x) noexcept { return nearest<Bf16>(x).bits; }

}  // namespace snug::cpu
