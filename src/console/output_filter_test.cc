#include "console/output_filter.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/own_colour.h"

namespace snug::console {
namespace {

TEST(OutputFilter, TextAndColoursStayAsTheyAre) {
  for (const char* text : {"", "plain\n\ttext", "\xC3\xA9 \xE2\x9C\x94 \xF0\x9F\x98\x80",
                           "\033[1mbold\033[0m \033[38;5;208mwarm\033[m"}) {
    EXPECT_EQ(shown(text), text);
  }
}

TEST(OutputFilter, WhatATerminalWouldObeyBecomesVisible) {
  EXPECT_EQ(shown("a\033]0;title\ab"), "a\\x1b]0;title\\x07b");
  EXPECT_EQ(shown("\033[2J\033[H"), "\\x1b[2J\\x1b[H");
  EXPECT_EQ(shown("good\rbad"), "good\\x0dbad");
  EXPECT_EQ(shown("a\b\x7f"), "a\\x08\\x7f");
  EXPECT_EQ(shown("\xC2\x9B"
                  "31m"),
            "\\x9b31m");  // C1: one character for ESC [
  EXPECT_EQ(shown("\xE2\x80\xAE"
                  "gpj.exe"),
            "\\u202egpj.exe");  // right to left
  EXPECT_EQ(shown("\033Pq\033\\"), "\\x1bPq\\x1b\\");
  EXPECT_EQ(shown("\033[1111111111111111111111m"), "\\x1b[1111111111111111111111m");
}

TEST(OutputFilter, WhatIsNotUtf8BecomesVisible) {
  EXPECT_EQ(shown("\xFF\xC0\x80"), "\\xff\\xc0\\x80");
  EXPECT_EQ(shown("\xED\xA0\x80"), "\\xed\\xa0\\x80");  // half of a surrogate pair
  EXPECT_EQ(shown("cut \xE2\x9C"), "cut \\xe2\\x9c");
  EXPECT_EQ(shown("cut \033["), "cut \\x1b\\x5b");
}

TEST(OutputFilter, ItDoesNotMatterWhereTextIsCut) {
  const std::string text = "a\033[1mb\033]0;x\a \xE2\x9C\x94\xC2\x9B\xFF\033[38;5;208mz\033[9";
  for (std::size_t first = 0; first <= text.size(); ++first) {
    for (std::size_t second = first; second <= text.size(); ++second) {
      OutputFilter filter;
      std::string out = filter.pass(text.substr(0, first));
      out += filter.pass(text.substr(first, second - first));
      out += filter.pass(text.substr(second));
      ASSERT_EQ(out + filter.finish(), shown(text)) << first << " " << second;
    }
  }
}

// In a process of its own: the mark stays.
TEST(OutputFilterDeathTest, OnlyMarkedColoursAreObeyed) {
  const auto marked = [] {
    mark_own_colours();
    const bool is_right = shown(in_colour("1;31", "red \033[31mname\033[0m")) ==
                              "\033[1;31mred \\x1b[31mname\\x1b[0m\033[0m" &&
                          shown("\033[8mhidden\033[m") == "\\x1b[8mhidden\\x1b[m" &&
                          in_colour("2", "") != "\033[2m\033[0m";
    std::exit(is_right ? 0 : 1);
  };
  EXPECT_EXIT(marked(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace snug::console
