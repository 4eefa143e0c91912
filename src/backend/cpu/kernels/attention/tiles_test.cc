// The exponential of attention_tiles-inl.h against double, on every instruction set of this
// machine.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/attention/tiles_test.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backend/cpu/kernels/attention/tiles-inl.h"

HWY_BEFORE_NAMESPACE();
namespace snug::cpu::HWY_NAMESPACE {

void exp2_array(const float* x, std::int64_t count, float* y) {
  const FloatTag d;
  for (std::int64_t n = 0; n < count; n += kLanes)
    hn::StoreU(exp2_vector(hn::LoadU(d, x + n)), d, y + n);
}

}  // namespace snug::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace snug::cpu {
namespace {

HWY_EXPORT(exp2_array);

constexpr std::int64_t kValues = 1 << 18;  // a multiple of every vector length

TEST(AttentionExp2, StaysWithinTheStatedError) {
  std::vector<float> x(kValues), y(kValues);
  // Results below 2^-126 would be denormal and may be flushed, so the grid stops at -125.5.
  for (std::int64_t n = 0; n < kValues; ++n) x[n] = -125.5f + 127.0f * float(n) / kValues;
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    HWY_DYNAMIC_DISPATCH(exp2_array)(x.data(), kValues, y.data());
    hwy::SetSupportedTargetsForTest(0);
    double worst = 0;
    for (std::int64_t n = 0; n < kValues; ++n) {
      const double exact = std::exp2(double(x[n]));
      worst = std::max(worst, std::abs(y[n] - exact) / exact);
    }
    EXPECT_LE(worst, 0x1p-23) << hwy::TargetName(target);
  }
}

TEST(AttentionExp2, FlushesToZeroAndKeepsOneAndNan) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::vector<float> x(kMaxLanes, 0.0f), y(kMaxLanes);
  x = {-kInfinity, -1e30f, -127.0f, 0.0f, NAN, 1.0f, -1.0f, -126.0f, 0, 0, 0, 0, 0, 0, 0, 0};
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    HWY_DYNAMIC_DISPATCH(exp2_array)(x.data(), kMaxLanes, y.data());
    hwy::SetSupportedTargetsForTest(0);
    SCOPED_TRACE(hwy::TargetName(target));
    EXPECT_EQ(y[0], 0.0f);
    EXPECT_EQ(y[1], 0.0f);
    EXPECT_EQ(y[2], 0.0f);
    EXPECT_EQ(y[3], 1.0f);
    EXPECT_TRUE(std::isnan(y[4]));
    EXPECT_EQ(y[5], 2.0f);
    EXPECT_EQ(y[6], 0.5f);
    EXPECT_EQ(y[7], 0x1p-126f);
  }
}

}  // namespace
}  // namespace snug::cpu
#endif  // HWY_ONCE
