// The two 16-bit floats as they lie in memory, and their exact conversions: widening loses nothing,
// narrowing rounds to the nearest, ties to even. Types of their own, so that neither can be taken
// for the other, for a uint16_t or for a number to calculate with.
#pragma once

#include <bit>
#include <cstdint>

namespace snug {

// The upper half of a float: 8 bits of exponent, 8 of precision (the leading one counted).
struct Bf16 {
  std::uint16_t bits;
};

// IEEE binary16: 5 bits of exponent, 11 of precision; from 65520 on it rounds to infinity, below
// 2^-14 it is subnormal in steps of 2^-24.
struct F16 {
  std::uint16_t bits;
};

constexpr float to_float(float x) noexcept { return x; }

constexpr float to_float(Bf16 x) noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16);
}

constexpr float to_float(F16 x) noexcept {
  const std::uint32_t magnitude = x.bits & 0x7fffu, sign = (x.bits & 0x8000u) << 16;
  if (magnitude >= 0x7c00u) {  // infinity or NaN
    return std::bit_cast<float>(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
  }
  // The exponent's bias is 112 smaller; the product is exact, for subnormals too.
  const float value = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(value));
}

// The nearest X to a float; NaN stays NaN, quiet.
template <class X>
constexpr X nearest(float x) noexcept;

template <>
constexpr float nearest<float>(float x) noexcept {
  return x;
}

template <>
constexpr Bf16 nearest<Bf16>(float x) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if (x != x) return {static_cast<std::uint16_t>(bits >> 16 | 0x40)};
  return {static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}

template <>
constexpr F16 nearest<F16>(float x) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
  const auto signed_bits = [sign](std::uint32_t b) {
    return F16{static_cast<std::uint16_t>(sign | b)};
  };
  if (magnitude > 0x7f800000u) return signed_bits(0x7e00u | (magnitude >> 13 & 0x3ffu));
  if (magnitude >= 0x477ff000u) return signed_bits(0x7c00u);
  if (magnitude < 0x38800000u) {  // subnormal: the steps of floats from 0.5 on are 2^-24 as well
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return signed_bits(std::bit_cast<std::uint32_t>(shifted) - 0x3f000000u);
  }
  return signed_bits((magnitude - 0x38000000u + 0xfff + (magnitude >> 13 & 1)) >> 13);
}

}  // namespace snug
