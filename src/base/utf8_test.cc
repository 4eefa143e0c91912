#include "base/utf8.h"

#include <gtest/gtest.h>

namespace snug {
namespace {

TEST(Utf8, EveryCodePointSurvives) {
  for (char32_t code_point = 0; code_point <= kMaxCodePoint; ++code_point) {
    if (code_point >= 0xD800 && code_point <= 0xDFFF) continue;
    std::string text;
    append_utf8(code_point, text);
    const Utf8Char back = decode_utf8(text);
    ASSERT_EQ(back.code_point, code_point);
    ASSERT_EQ(back.length, static_cast<int>(text.size()));
    for (std::size_t cut = 1; cut < text.size(); ++cut) {
      ASSERT_EQ(decode_utf8(text.substr(0, cut)).length, Utf8Char::kIncomplete);
    }
  }
}

TEST(Utf8, RefusesWhatPythonRefuses) {
  for (const char* bad : {"\x80", "\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80",
                          "\xED\xBF\xBF", "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80",
                          "\xF5\x80\x80\x80", "\xFF", "\xC3(", "\xE2\x82(", "\xF0\x9F\x98("}) {
    EXPECT_EQ(decode_utf8(bad).length, Utf8Char::kInvalid) << bad;
  }
}

TEST(Utf8, FindsTheFirstBadByte) {
  EXPECT_EQ(find_invalid_utf8("na\xC3\xAFve"), std::nullopt);
  EXPECT_EQ(find_invalid_utf8("na\xEFve"), 2u);
  EXPECT_EQ(find_invalid_utf8("end\xE2\x82"), 3u);
  EXPECT_EQ(find_invalid_utf8(""), std::nullopt);
}

TEST(Utf8, DescribesCharacters) {
  EXPECT_EQ(describe_character(U'x'), "'x' (U+0078)");
  EXPECT_EQ(describe_character(U'\n'), "U+000A");
  EXPECT_EQ(describe_character(0x1F600), "'\xF0\x9F\x98\x80' (U+1F600)");
}

}  // namespace
}  // namespace snug
