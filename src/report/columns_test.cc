#include "report/columns.h"

#include <gtest/gtest.h>

namespace snug::report {
namespace {

using Lines = std::vector<std::string>;

TEST(Columns, WideCharactersTakeTwo) {
  EXPECT_EQ(columns_of("abc"), 3u);
  EXPECT_EQ(columns_of("显存 GiB"), 8u);
  EXPECT_EQ(columns_of("メモリ"), 6u);
  EXPECT_EQ(columns_of("（1）"), 5u);
  EXPECT_EQ(columns_of("größe × ✔"), 9u);
  EXPECT_EQ(columns_of("e\xCC\x81"), 1u);
  EXPECT_EQ(columns_of("\xFF\xFE"), 2u);
}

TEST(Columns, PaddingCountsColumns) {
  EXPECT_EQ(left("显存", 6), "显存  ");
  EXPECT_EQ(right("显存", 6), "  显存");
  EXPECT_EQ(left("too long", 3), "too long");
}

TEST(Columns, WordsWrapAtBlanks) {
  EXPECT_EQ(wrapped("one two three", 7), (Lines{"one two", "three"}));
  EXPECT_EQ(wrapped("unbreakable x", 4), (Lines{"unbreakable", "x"}));
  EXPECT_EQ(wrapped("a\nb", 10), (Lines{"a", "b"}));
  EXPECT_EQ(wrapped("", 10), Lines{""});
}

TEST(Columns, ANumberKeepsItsUnit) {
  EXPECT_EQ(wrapped("needs 6.14 GiB now", 11), (Lines{"needs", "6.14 GiB", "now"}));
}

TEST(Columns, SettingsAndCodeStayWhole) {
  EXPECT_EQ(wrapped("set n_head = 8 or", 10), (Lines{"set", "n_head = 8", "or"}));
  EXPECT_EQ(wrapped("a `del logits` b", 9), (Lines{"a", "`del logits`", "b"}));
}

TEST(Columns, WideTextBreaksBetweenCharactersButNotBeforeMarks) {
  EXPECT_EQ(wrapped("显存已满显存", 8), (Lines{"显存已满", "显存"}));
  EXPECT_EQ(wrapped("显存已满。好", 8), (Lines{"显存已", "满。好"}));
  EXPECT_EQ(wrapped("显存已（满）", 8), (Lines{"显存已", "（满）"}));
  EXPECT_EQ(wrapped("用 logits 名", 8), (Lines{"用", "logits", "名"}));
}

TEST(Columns, CleanTextCannotMoveTheCursor) {
  EXPECT_EQ(clean("a\033[2Jb\n"), "a [2Jb ");
  EXPECT_EQ(clean("x\xFFy"), "x\xEF\xBF\xBDy");
  EXPECT_EQ(clean("\xED\xA0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(clean("显存"), "显存");
}

}  // namespace
}  // namespace snug::report
