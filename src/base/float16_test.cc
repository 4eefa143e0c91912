// Both 16-bit floats against their definition: every pattern, and floats on and beside every
// midpoint.
#include "base/float16.h"

#include <gtest/gtest.h>

#include <cmath>

namespace snug {
namespace {

template <class X>
class Float16 : public testing::Test {};
using Types = testing::Types<Bf16, F16>;
TYPED_TEST_SUITE(Float16, Types);

template <class X>
std::uint16_t infinity() {
  return std::is_same_v<X, Bf16> ? 0x7f80 : 0x7c00;
}

TYPED_TEST(Float16, EveryPatternComesBack) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const TypeParam x{static_cast<std::uint16_t>(bits)};
    if ((bits & 0x7fff) > infinity<TypeParam>()) {
      EXPECT_TRUE(std::isnan(to_float(x)));
      EXPECT_TRUE(std::isnan(to_float(nearest<TypeParam>(to_float(x)))));
      continue;
    }
    ASSERT_EQ(nearest<TypeParam>(to_float(x)).bits, bits);
  }
}

// Between two neighbours the midpoint goes to the even one, and what is beside it to the nearer.
TYPED_TEST(Float16, RoundsToTheNearestAndTiesToEven) {
  for (std::uint16_t bits = 0; bits + 1 < infinity<TypeParam>(); ++bits) {
    const float low = to_float(TypeParam{bits});
    const float high = to_float(TypeParam{static_cast<std::uint16_t>(bits + 1)});
    ASSERT_LT(low, high);
    const float middle = low + (high - low) / 2;
    const auto even = static_cast<std::uint16_t>(bits + (bits & 1));
    ASSERT_EQ(nearest<TypeParam>(middle).bits, even);
    ASSERT_EQ(nearest<TypeParam>(-middle).bits, 0x8000 | even);
    ASSERT_EQ(nearest<TypeParam>(std::nextafter(middle, low)).bits, bits);
    ASSERT_EQ(nearest<TypeParam>(std::nextafter(middle, high)).bits, bits + 1);
  }
}

TEST(Float16Values, AreIeees) {
  EXPECT_EQ(to_float(F16{0x3c00}), 1.0f);
  EXPECT_EQ(to_float(F16{0x0001}), 0x1p-24f);
  EXPECT_EQ(to_float(F16{0x7bff}), 65504.0f);
  EXPECT_EQ(nearest<F16>(65519.0f).bits, 0x7bff);
  EXPECT_EQ(nearest<F16>(65520.0f).bits, 0x7c00);
  EXPECT_EQ(nearest<F16>(-1e30f).bits, 0xfc00);
  EXPECT_EQ(nearest<Bf16>(1.0f).bits, 0x3f80);
  EXPECT_EQ(nearest<Bf16>(3.4e38f).bits, 0x7f80);
}

}  // namespace
}  // namespace snug
