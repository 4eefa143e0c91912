#include "tokenizer/splitter.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "base/utf8.h"
#include "tokenizer/pcre2_for_test.h"

namespace snug::tokenizer {
namespace {

std::vector<std::size_t> our_ends(const Splitter& splitter, std::string_view text) {
  std::vector<std::size_t> ends;
  for (std::size_t at = 0; at < text.size();) {
    at = splitter.piece_end(text, at);
    ends.push_back(at);
  }
  return ends;
}

std::vector<std::string> pieces(std::string_view text) {
  std::vector<std::string> found;
  std::size_t begin = 0;
  for (const std::size_t end : our_ends(Splitter(), text)) {
    found.emplace_back(text.substr(begin, end - begin));
    begin = end;
  }
  return found;
}

using Pieces = std::vector<std::string>;

TEST(Splitter, CutsAsGpt2Does) {
  EXPECT_EQ(pieces("Hello world"), (Pieces{"Hello", " world"}));
  EXPECT_EQ(pieces("It's we'll they've I'm you'd 're't"),
            (Pieces{"It", "'s", " we", "'ll", " they", "'ve", " I", "'m", " you", "'d", " '", "re",
                    "'t"}));
  EXPECT_EQ(pieces("a  b\n\n c \t"), (Pieces{"a", " ", " b", "\n\n", " c", " \t"}));
  EXPECT_EQ(pieces("x=12.5e3;"), (Pieces{"x", "=", "12", ".", "5", "e", "3", ";"}));
  EXPECT_EQ(pieces("'S '"), (Pieces{"'", "S", " '"}));
  EXPECT_EQ(pieces("na\u00EFve \u4F60\u597D\u3000\u0663"),
            (Pieces{"na\u00EFve", " \u4F60\u597D", "\u3000", "\u0663"}));
  EXPECT_EQ(pieces("a\xFF\xC3z"), (Pieces{"a", "\xFF\xC3", "z"}));
}

// PCRE2 10.42 has Unicode 14: what it knows as unassigned is left out.
TEST(Splitter, ClassesAreThoseOfPcre2) {
  const Splitter splitter;
  const PcreMatcher letter("\\p{L}"), number("\\p{N}"), space("[" SNUG_TEST_SPACE "]");
  const PcreMatcher unassigned("\\p{Cn}");
  int compared = 0;
  for (char32_t c = 0; c <= kMaxCodePoint; ++c) {
    if (c >= 0xD800 && c < 0xE000) continue;
    std::string text;
    append_utf8(c, text);
    if (unassigned.match_end(text, 0) != 0) continue;
    const CharacterClass expected = letter.match_end(text, 0)   ? CharacterClass::kLetter
                                    : number.match_end(text, 0) ? CharacterClass::kNumber
                                    : space.match_end(text, 0)  ? CharacterClass::kSpace
                                                                : CharacterClass::kOther;
    ASSERT_EQ(splitter.class_of(c), expected) << describe_character(c);
    ++compared;
  }
  EXPECT_GT(compared, 280000);
}

TEST(Splitter, KnowsUnicode16) {
  const Splitter splitter;
  EXPECT_EQ(splitter.class_of(0x1C89), CharacterClass::kLetter);   // new in 16.0
  EXPECT_EQ(splitter.class_of(0x1CCF0), CharacterClass::kNumber);  // new in 16.0
  EXPECT_EQ(splitter.class_of(0x180E), CharacterClass::kOther);    // no White_Space since 6.3
}

// Characters that meet each other in every alternative of the pattern.
const std::vector<std::string>& alphabet() {
  static const std::vector<std::string> characters = {"a",          "B",
                                                      "s",          "t",
                                                      "l",          "v",
                                                      "e",          "r",
                                                      "m",          "d",
                                                      "'",          "'",
                                                      "'",          " ",
                                                      " ",          " ",
                                                      "\n",         "\t",
                                                      "\r",         "\v",
                                                      "1",          "9",
                                                      ".",          "-",
                                                      "<|",         "\x00",
                                                      "\x1c",       "\x7f",
                                                      "\xff",       "\x80",
                                                      "\xc3",       "\xe4\xbd",
                                                      "\xf0\x9f",   "\xed\xa0\x80",
                                                      "\u00e9",     "\u00a0",
                                                      "\u0085",     "\u3000",
                                                      "\u2028",     "\u180e",
                                                      "\u4f60",     "\u0663",
                                                      "\u2160",     "\u0301",
                                                      "\u200d",     "\U0001F600",
                                                      "\U00020000", "\ufffd"};
  return characters;
}

void expect_same(const Splitter& splitter, const PcreSplitter& reference, const std::string& text) {
  ASSERT_EQ(our_ends(splitter, text), reference.piece_ends(text)) << ::testing::PrintToString(text);
}

TEST(Splitter, PiecesAreThoseOfPcre2ForShortTexts) {
  const Splitter splitter;
  const PcreSplitter reference;
  for (const std::string& a : alphabet()) {
    for (const std::string& b : alphabet()) {
      for (const std::string& c : alphabet()) expect_same(splitter, reference, a + b + c);
    }
  }
}

TEST(Splitter, PiecesAreThoseOfPcre2ForRandomTexts) {
  const Splitter splitter;
  const PcreSplitter reference;
  std::mt19937 random(1);
  for (int i = 0; i < 4000; ++i) {
    std::string text;
    const std::size_t length = random() % 60;
    for (std::size_t k = 0; k < length; ++k) {
      if (random() % 8 == 0) {
        text += static_cast<char>(random());
      } else {
        text += alphabet()[random() % alphabet().size()];
      }
    }
    expect_same(splitter, reference, text);
  }
}

// How many of these texts have a safe cut, each of which must change no piece.
template <class MakeText>
int count_safe_cuts(int texts, const MakeText& make_text) {
  const Splitter splitter;
  int cuts = 0;
  for (int i = 0; i < texts; ++i) {
    const std::string text = make_text();
    const std::size_t cut = last_safe_cut(text);
    if (cut == 0) continue;
    ++cuts;
    std::vector<std::size_t> ends = our_ends(splitter, text.substr(0, cut));
    for (const std::size_t end : our_ends(splitter, text.substr(cut))) ends.push_back(cut + end);
    EXPECT_EQ(ends, our_ends(splitter, text)) << ::testing::PrintToString(text);
  }
  return cuts;
}

TEST(Splitter, ASafeCutChangesNoPiece) {
  std::mt19937 random(2);
  const auto make_text = [&] {
    std::string text;
    for (int k = 0; k < 40; ++k) text += alphabet()[random() % alphabet().size()];
    return text;
  };
  EXPECT_GT(count_safe_cuts(2000, make_text), 1000);
  EXPECT_EQ(last_safe_cut("a b  c"), 3u);
  EXPECT_EQ(last_safe_cut("\u3002\n\u3000\n"), 3u);  // after a space of three bytes there is none
  EXPECT_EQ(last_safe_cut("\xFF b"), 1u);
  EXPECT_EQ(last_safe_cut("  abc"), 0u);
  EXPECT_EQ(last_safe_cut(""), 0u);
}

TEST(Splitter, TextWithoutSpacesIsCutWhereNoPieceCanBe) {
  std::mt19937 random(3);
  constexpr std::string_view kSymbols = "abstrelvdm'',.|<>0123\"{}\xE4\xB8\xAD\xC3";
  const auto make_text = [&] {
    std::string text;
    for (int k = 0; k < 12; ++k) text += kSymbols[random() % kSymbols.size()];
    return text;
  };
  EXPECT_GT(count_safe_cuts(4000, make_text), 3000);
  EXPECT_EQ(last_safe_cut("{\"a\":12}"), 7u);
  EXPECT_EQ(last_safe_cut("<|endoftext|>"), 0u);
  EXPECT_EQ(last_safe_cut("aaaa"), 0u);
}

}  // namespace
}  // namespace snug::tokenizer
