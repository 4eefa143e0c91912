// The vector Philox against base/philox.h, on every instruction set of this machine.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/philox_inl_test.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backend/cpu/kernels/philox-inl.h"

HWY_BEFORE_NAMESPACE();
namespace snug::cpu::HWY_NAMESPACE {

void fill_multipliers(const Dropout& dropout, std::int64_t sequence_in_batch, std::uint64_t first,
                      std::size_t count, float* out) {
  dropout_multipliers(dropout_stream(dropout, sequence_in_batch), first, count, out);
}

}  // namespace snug::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <gtest/gtest.h>

#include <vector>

namespace snug::cpu {
namespace {

HWY_EXPORT(fill_multipliers);

float expected_multiplier(const Dropout& dropout, std::uint32_t sequence, std::uint64_t element) {
  const PhiloxBlock words = philox(dropout.seed, {static_cast<std::uint32_t>(element / 4),
                                                  dropout.site, sequence, dropout.iteration});
  return words[element % 4] >= dropout.threshold ? dropout.scale : 0.0f;
}

TEST(PhiloxInl, MultipliersMatchTheScalarGeneratorForAnyStartAndLength) {
  const Dropout dropout{.seed = 0x0123456789ABCDEF,
                        .site = (1u << 16) + 7,
                        .iteration = 0xFFFFFFF0,
                        .first_sequence = 41,
                        .threshold = 0x40000000,
                        .scale = 4.0f / 3.0f};
  // The last start lets the 32-bit block number wrap inside the run.
  const std::uint64_t starts[] = {0, 1, 2, 3, 4, 63, 1000001, (std::uint64_t{1} << 34) - 18};
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    for (const std::uint64_t first : starts) {
      for (std::size_t count = 0; count <= 140; ++count) {
        std::vector<float> out(count + 2, -7.0f);
        HWY_DYNAMIC_DISPATCH(fill_multipliers)(dropout, 3, first, count, out.data() + 1);
        EXPECT_EQ(out.front(), -7.0f);
        EXPECT_EQ(out.back(), -7.0f);
        for (std::size_t n = 0; n < count; ++n) {
          ASSERT_EQ(out[n + 1], expected_multiplier(dropout, 44, first + n))
              << hwy::TargetName(target) << " first " << first << " count " << count << " n " << n;
        }
      }
    }
    hwy::SetSupportedTargetsForTest(0);
  }
}

TEST(PhiloxInl, KeepsTheStatedShare) {
  const Dropout dropout{.seed = 5, .site = 1u << 16, .threshold = 858993459, .scale = 1.25f};
  constexpr std::size_t kCount = 1 << 16;
  std::vector<float> out(kCount);
  HWY_DYNAMIC_DISPATCH(fill_multipliers)(dropout, 0, 0, kCount, out.data());
  double kept = 0;
  for (const float multiplier : out) kept += multiplier != 0.0f;
  // p = 0.2: the share's standard deviation is sqrt(0.2 * 0.8 / 2^16) = 0.0016; five of them.
  EXPECT_NEAR(kept / kCount, 0.8, 0.008);
}

}  // namespace
}  // namespace snug::cpu
#endif  // HWY_ONCE
