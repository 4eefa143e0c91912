// Ranges of tensors in other layouts and types, and the 16-bit types.
#include "formats/stored_tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "formats/float_bits.h"
#include "formats/formats_testing.h"

namespace snug::formats {
namespace {

TEST(StoredTensor, ColumnsFirstInAnyRange) {
  constexpr std::int64_t kRows = 5, kColumns = 7;
  std::vector<float> stored(kRows * kColumns);  // (columns, rows)
  for (std::int64_t r = 0; r < kRows; ++r) {
    for (std::int64_t c = 0; c < kColumns; ++c) {
      stored[static_cast<std::size_t>(c * kRows + r)] = static_cast<float>(r * kColumns + c);
    }
  }
  Source source;
  add_tensor(source, "w", {kColumns, kRows}, stored);
  const StoredTensor tensor = transposed(source.tensor("w"));
  EXPECT_EQ(tensor.shape, (Shape{kRows, kColumns}));
  for (std::int64_t first = 0; first < kRows * kColumns; ++first) {
    for (std::int64_t end = first; end <= kRows * kColumns; ++end) {
      std::vector<float> found(static_cast<std::size_t>(end - first), -1);
      tensor.read(first, found);
      for (std::size_t i = 0; i < found.size(); ++i) {
        ASSERT_EQ(found[i], static_cast<float>(first) + static_cast<float>(i))
            << first << " " << end;
      }
    }
  }
}

TEST(StoredTensor, OutsideItsBytesIsRefused) {
  Source source;
  add_tensor(source, "w", {4}, {1, 2, 3, 4});
  StoredTensor tensor = source.tensor("w");
  EXPECT_NO_THROW(check_extent(tensor, "w", "file"));
  tensor.offset = 4;
  EXPECT_THROW(check_extent(tensor, "w", "file"), DataError);
  tensor.offset = -4;
  EXPECT_THROW(check_extent(tensor, "w", "file"), DataError);
  tensor = source.tensor("w");
  tensor.shape = {std::int64_t{1} << 40, std::int64_t{1} << 40};
  EXPECT_THROW(check_extent(tensor, "w", "file"), DataError);
}

TEST(StoredTensor, SameValuesWhereverTheyLie) {
  std::vector<float> values(5000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  values[7] = std::nanf("");  // of a run that diverged
  Source source;
  add_tensor(source, "a", {50, 100}, values);
  add_tensor(source, "b", {50, 100}, values);
  add_tensor(source, "long", {5000}, values);
  values.back() += 1;
  add_tensor(source, "c", {50, 100}, values);
  EXPECT_TRUE(same_values(source.tensor("a"), source.tensor("a")));
  EXPECT_TRUE(same_values(source.tensor("a"), source.tensor("b")));
  EXPECT_FALSE(same_values(source.tensor("a"), source.tensor("c")));
  EXPECT_FALSE(same_values(source.tensor("a"), source.tensor("long")));
}

TEST(StoredTensor, WrappersInAnyOrder) {
  for (const char* name : {"a.weight", "module.a.weight", "_orig_mod.a.weight",
                           "module._orig_mod.a.weight", "_orig_mod.module.a.weight"}) {
    EXPECT_EQ(without_wrappers(name), "a.weight");
  }
  EXPECT_EQ(without_wrappers("a.module.weight"), "a.module.weight");
}

TEST(FloatBits, EveryFloat16ComesBack) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const float value = from_float16(static_cast<std::uint16_t>(bits));
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(from_float16(to_float16(value))));
    } else {
      EXPECT_EQ(to_float16(value), bits);
    }
  }
}

TEST(FloatBits, EveryBfloat16ComesBack) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const float value = from_bfloat16(static_cast<std::uint16_t>(bits));
    if (std::isnan(value)) continue;
    EXPECT_EQ(to_bfloat16(value), bits);
  }
  EXPECT_TRUE(std::isnan(from_bfloat16(to_bfloat16(std::nanf("")))));
}

TEST(FloatBits, TiesGoToEven) {
  EXPECT_EQ(to_float16(2049.0f), to_float16(2048.0f));
  EXPECT_EQ(to_float16(2051.0f), to_float16(2052.0f));
  EXPECT_EQ(to_float16(0x1p-25f), 0);           // half of the smallest
  EXPECT_EQ(to_float16(0x1.8p-24f), 2);         // between one and two of it
  EXPECT_EQ(to_float16(65519.0f), 0x7BFF);      // the largest
  EXPECT_EQ(to_float16(65520.0f), 0x7C00);      // infinity
  EXPECT_EQ(to_bfloat16(1.00390625f), 0x3F80);  // 1 + 2^-8
  EXPECT_EQ(to_bfloat16(1.01171875f), 0x3F82);  // 1 + 3 * 2^-8
  EXPECT_EQ(to_bfloat16(std::numeric_limits<float>::max()), 0x7F80);
}

}  // namespace
}  // namespace snug::formats
