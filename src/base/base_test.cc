#include <gtest/gtest.h>

#include <limits>

#include "base/bytes.h"
#include "base/error.h"
#include "base/philox.h"
#include "base/shape.h"

namespace snug {
namespace {

TEST(Bytes, CheckedArithmeticRefusesToWrap) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(checked_mul(1 << 20, 1 << 20), std::int64_t{1} << 40);
  EXPECT_THROW(checked_mul(kMax, 2), ConfigError);
  EXPECT_THROW(checked_add(kMax, 1), ConfigError);
  EXPECT_THROW(align_up(kMax - 1, 64), ConfigError);
  EXPECT_EQ(align_up(65, 64), 128);
  EXPECT_EQ(align_up(0, 64), 0);
}

TEST(Bytes, FormatsAndParsesAsPeopleWrite) {
  EXPECT_EQ(format_bytes(512), "512 B");
  EXPECT_EQ(format_bytes(6593445888), "6.14 GiB");
  EXPECT_EQ(with_thousands(491520), "491,520");
  EXPECT_EQ(with_thousands(-1234), "-1,234");
  EXPECT_EQ(with_thousands(999), "999");
  EXPECT_EQ(parse_bytes("12GiB"), 12 * kGiB);
  EXPECT_EQ(parse_bytes("1.5 gb"), 1500000000);
  EXPECT_EQ(parse_bytes("4096"), 4096);
  for (const char* bad : {"", "GiB", "12 parsecs", "-1GiB", "nan", "1e300GiB"}) {
    EXPECT_EQ(parse_bytes(bad), std::nullopt) << bad;
  }
}

TEST(Shape, CountsElements) {
  EXPECT_EQ((Shape{2, 3, 4}).element_count(), 24);
  EXPECT_EQ(to_string(Shape{65536, 50304}), "(65536, 50304)");
  EXPECT_THROW((Shape{1LL << 40, 1LL << 40}).element_count(), ConfigError);
}

// Known answers published with the Random123 library.
TEST(Philox, MatchesPublishedVectors) {
  EXPECT_EQ(philox(0, {0, 0, 0, 0}), (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox(0xffffffffffffffffULL, {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}),
            (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox(0x299f31d0a4093822ULL, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}),
            (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

}  // namespace
}  // namespace snug
