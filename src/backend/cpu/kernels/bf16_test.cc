// bfloat16's conversions: the plain ones by what they promise, the vector ones against them bit for
// bit on every instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/bf16_test.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h:
#include "backend/cpu/kernels/bf16-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace snug::cpu::HWY_NAMESPACE {

void widen_all(const std::uint16_t* in, std::int64_t count, float* out) {
  const hn::ScalableTag<float> d;
  for (std::int64_t i = 0; i < count; i += lane_count(d)) {
    store_upto(load_upto(d, in + i, count - i), d, out + i, count - i);
  }
}

// Reads whole vectors of x and random16.
void round_all(const float* x, const std::uint32_t* random16, std::int64_t count,
               std::uint16_t* out) {
  const hn::ScalableTag<float> d;
  const hn::RebindToUnsigned<decltype(d)> d32;
  for (std::int64_t i = 0; i < count; i += lane_count(d)) {
    store_rounded_upto(hn::LoadU(d, x + i), hn::LoadU(d32, random16 + i), d, out + i, count - i);
  }
}

}  // namespace snug::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <limits>

#include "backend/cpu/kernels/bf16.h"
#include "backend/cpu/kernels/kernel_testing.h"

namespace snug::cpu::testing {
namespace {

HWY_EXPORT(widen_all);
HWY_EXPORT(round_all);

constexpr float kInfinity = std::numeric_limits<float>::infinity();

float from_bits(std::uint32_t bits) { return std::bit_cast<float>(bits); }

TEST(Bf16, WhatItHoldsStaysAsItIs) {
  for (std::uint32_t bits = 0; bits < 1 << 16; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float x = bf16_to_float(half);
    for (const std::uint32_t random16 : {0u, 0x8000u, 0xFFFFu}) {
      if (std::isnan(x)) {
        ASSERT_TRUE(std::isnan(bf16_to_float(round_to_bf16(x, random16)))) << bits;
      } else {
        ASSERT_EQ(round_to_bf16(x, random16), half) << random16;
      }
    }
  }
}

// Every sum here is exact in double: 2^16 floats of a handful of neighbouring exponents.
TEST(Bf16, MeanOverAllRandomNumbersIsTheValue) {
  for (const float x : {0.0f, 1.3f, -1.3f, 0.0123f, -3e-7f, 1.9999f, -2.0001f, 1e-39f, -1e-45f}) {
    double sum = 0;
    for (std::uint32_t random16 = 0; random16 < 1 << 16; ++random16) {
      const double rounded = bf16_to_float(round_to_bf16(x, random16));
      sum += rounded;
      // Less than one step: 2^-7 of the value, or the smallest subnormal.
      ASSERT_LT(std::abs(rounded - x), std::max(0x1.0p-7 * std::abs(x), 0x1.0p-133)) << x;
    }
    EXPECT_EQ(sum * 0x1.0p-16, x);
  }
}

TEST(Bf16, NanInfinityAndTheLargestStayInTheirKind) {
  for (std::uint32_t random16 = 0; random16 < 1 << 16; ++random16) {
    // The last two have no bit of their payload in the upper half.
    for (const std::uint32_t nan : {0x7FC00000u, 0xFFFFFFFFu, 0x7F800001u, 0xFF80FFFFu}) {
      const std::uint16_t rounded = round_to_bf16(from_bits(nan), random16);
      ASSERT_TRUE(std::isnan(bf16_to_float(rounded))) << nan;
    }
    for (const float sign : {1.0f, -1.0f}) {
      ASSERT_EQ(bf16_to_float(round_to_bf16(sign * kInfinity, random16)), sign * kInfinity);
      for (const std::uint32_t finite : {0x7F7F0000u, 0x7F7F0001u, 0x7F7F8000u, 0x7F7FFFFFu}) {
        ASSERT_EQ(bf16_to_float(round_to_bf16(sign * from_bits(finite), random16)),
                  sign * bf16_to_float(kBf16Largest));
      }
    }
  }
}

// Every upper half with the lower halves and the random numbers around which the sum carries.
// Signalling NaNs, whose first bit of mantissa is clear, are left out.
TEST(Bf16, VectorsRoundLikeThePlainFunction) {
  const std::uint32_t borders[] = {0, 1, 2, 0x7FFF, 0x8000, 0x8001, 0xFFFE, 0xFFFF};
  constexpr std::size_t kCount = 1 << 16;
  Values x(kCount);
  std::vector<std::uint16_t> out(kCount);
  for (const std::uint32_t low : borders) {
    for (std::uint32_t high = 0; high < kCount; ++high) {
      const float value = from_bits(high << 16 | low);
      x[high] = std::isnan(value) ? from_bits(high << 16 | low | 0x400000) : value;
    }
    for (const std::uint32_t random : borders) {
      const std::vector<std::uint32_t> random16(kCount, random);
      for_each_target([&] {
        HWY_DYNAMIC_DISPATCH(round_all)(x.data(), random16.data(), kCount, out.data());
        for (std::size_t i = 0; i < kCount; ++i) {
          ASSERT_EQ(out[i], round_to_bf16(x[i], random)) << i << " " << low << " " << random;
        }
      });
    }
  }
}

TEST(Bf16, VectorsWidenEveryValue) {
  constexpr std::size_t kCount = 1 << 16;
  std::vector<std::uint16_t> in(kCount);
  for (std::size_t i = 0; i < kCount; ++i) in[i] = static_cast<std::uint16_t>(i);
  Values out(kCount);
  for_each_target([&] {
    HWY_DYNAMIC_DISPATCH(widen_all)(in.data(), kCount, out.data());
    for (std::size_t i = 0; i < kCount; ++i) {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(out[i]), i << 16);
    }
  });
}

TEST(Bf16, VectorsTouchNothingBeyondTheCount) {
  const std::vector<std::uint32_t> random16(100, 0x1234);
  const Values x = normal_values(100, 1);
  for (std::int64_t count = 0; count <= 70; ++count) {
    const auto size = static_cast<std::size_t>(count);
    for_each_target([&] {
      std::vector<std::uint16_t> rounded(size + 1, 7);
      HWY_DYNAMIC_DISPATCH(round_all)(x.data(), random16.data(), count, rounded.data());
      EXPECT_EQ(rounded[size], 7);
      rounded.resize(size);
      rounded.shrink_to_fit();  // for a sanitizer to see reads beyond
      Values widened(size + 1, 7.0f);
      HWY_DYNAMIC_DISPATCH(widen_all)(rounded.data(), count, widened.data());
      EXPECT_EQ(widened[size], 7.0f);
      for (std::size_t i = 0; i < size; ++i) {
        ASSERT_EQ(widened[i], bf16_to_float(round_to_bf16(x[i], 0x1234))) << i << " of " << count;
      }
    });
  }
}

}  // namespace
}  // namespace snug::cpu::testing
#endif  // HWY_ONCE
