#include "doctor/log/lines.h"

#include <gtest/gtest.h>

#include <sstream>

#include "doctor/log/phrase_automaton.h"
#include "doctor/log/prefix.h"

namespace snug::doctor::log {
namespace {

std::vector<std::string> lines_of(const std::string& bytes) {
  std::istringstream stream(bytes);
  LineSource source(stream.rdbuf());
  std::vector<std::string> lines;
  for (RawLine line; source.next(line);) lines.emplace_back(line.text);
  EXPECT_EQ(source.byte_count(), static_cast<std::int64_t>(bytes.size()));
  return lines;
}

TEST(LogLines, EndsOfLinesAndControlBytes) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(lines_of(""), Lines{});
  EXPECT_EQ(lines_of("a\n\nb"), (Lines{"a", "", "b"}));
  EXPECT_EQ(lines_of("a\r\nb\r\n"), (Lines{"a", "b"}));
  // A last line without an end that is longer than all before it.
  EXPECT_EQ(lines_of("ab\n0123456789"), (Lines{"ab", "0123456789"}));
  EXPECT_EQ(lines_of("1%\r2%\r100%\nend\n"), (Lines{"1%", "2%", "100%", "end"}));
  EXPECT_EQ(lines_of("\x1B[1;31mred\x1B[0m \x1B]0;title\adone\n"), (Lines{"red done"}));
  // The escape character was lost on the way.
  EXPECT_EQ(lines_of("[0;31mRuntimeError[0m: a[0]\n[rank0]: b[1m\n"),
            (Lines{"RuntimeError: a[0]", "[rank0]: b"}));
  EXPECT_EQ(lines_of(std::string("a\0b\n", 4)), (Lines{"ab"}));
  EXPECT_EQ(lines_of(std::string("\xFF\xFE"
                                 "a\0\n\0b\0\r\0\n\0",
                                 12)),
            (Lines{"a", "b", ""}));
  EXPECT_EQ(lines_of("\xEF\xBB\xBF"
                     "a\n"),
            (Lines{"a"}));
  EXPECT_EQ(lines_of("cut \x1B["), (Lines{"cut "}));
}

TEST(LogLines, OverlongLinesComeInPiecesAndNothingIsLost) {
  std::string bytes(3 * LineSource::kMaxLineBytes + 17, 'x');
  bytes += "\nshort\n";
  std::istringstream stream(bytes);
  LineSource source(stream.rdbuf());
  std::size_t length = 0;
  int pieces = 0;
  RawLine line;
  while (source.next(line) && line.number == 1) {
    EXPECT_EQ(line.is_continued, pieces > 0);
    EXPECT_LE(line.text.size(), LineSource::kMaxLineBytes);
    length += line.text.size();
    ++pieces;
  }
  EXPECT_EQ(length, 3 * LineSource::kMaxLineBytes + 17);
  EXPECT_EQ(line.text, "short");
  EXPECT_EQ(line.number, 2);
  EXPECT_FALSE(line.is_continued);
  EXPECT_FALSE(source.next(line));
  EXPECT_EQ(source.line_count(), 2);
}

LogLine stripped(std::string_view text) {
  PrefixStripper stripper;
  return stripper.strip({text, 1, false});
}

TEST(LogPrefix, IsTakenOffAndTheContentKept) {
  for (const char* text :
       {"iter 1: loss", "[rank12]: iter 1: loss", "[default0]:iter 1: loss", "3: iter 1: loss",
        "rank0: iter 1: loss", "2024-09-28 16:57:34,932 iter 1: loss",
        "[2024-09-28 16:57:34,932] [INFO] [train.py:12:main] iter 1: loss",
        "2024-05-01T12:00:00.123456Z iter 1: loss", "> > iter 1: loss", "│ iter 1: loss   │",
        "|  iter 1: loss  |", "[1,0]<stderr>:iter 1: loss",
        "(Ray pid=12, ip=10.0.0.1) iter 1: loss",
        "(W pid=5) ERROR 07-29 21:48:54 [exec.py:962] iter 1: loss", "  12\titer 1: loss",
        "12 | iter 1: loss", "train-1  | iter 1: loss",
        R"({"log":"iter 1: loss\n","stream":"stderr"})"}) {
    const std::string_view content = stripped(text).text;
    EXPECT_EQ(content.substr(std::min(content.find_first_not_of(' '), content.size())),
              "iter 1: loss")
        << text;
  }
  EXPECT_EQ(stripped("[rank12]: x").rank, 12);
  EXPECT_EQ(stripped("[rank0]:     loss.backward()").text, "    loss.backward()");
}

TEST(LogPrefix, WhatIsPartOfAMessageStays) {
  for (const char* text :
       {"15.78 GiB total capacity", "12 GiB free", "[CUDA ERROR] at file x", "(GPU 0; 15.78 GiB",
        "0 bytes free;", "-9", "Killed", "Error code 12", "1000341504 bytes (free"}) {
    EXPECT_EQ(stripped(text).text, text);
  }
}

TEST(LogPrefix, ABareNumberIsALineNumberOnlyInASequence) {
  PrefixStripper stripper;
  EXPECT_EQ(stripper.strip({"  7 first", 1, false}).text, "  7 first");
  EXPECT_EQ(stripper.strip({"  8 20.00 MiB", 2, false}).text, "20.00 MiB");
  EXPECT_EQ(stripper.strip({"20.00 MiB", 3, false}).text, "20.00 MiB");
}

TEST(LogPrefix, FramedSourceIsMarked) {
  EXPECT_TRUE(stripped("│   336 │   │   main()      │").is_source);
  const LogLine marked = stripped("│ ❱ 339 │   │   main()      │");
  EXPECT_TRUE(marked.has_marker);
  EXPECT_EQ(marked.gutter, 339);
  EXPECT_NE(marked.text.find("main()"), std::string_view::npos);
  EXPECT_TRUE(stripped("---> 12 model.to(device)").has_marker);
  EXPECT_FALSE(stripped("12 | CUDA out of memory").is_source);
}

TEST(LogPhrases, TheLongestOfThoseThatEndTogether) {
  const std::vector<std::string_view> phrases{"memory", "outofmemory", "error"};
  const PhraseAutomaton automaton(phrases);
  std::vector<std::pair<std::size_t, std::size_t>> hits;
  const auto note = [&](std::size_t phrase, std::size_t end) { hits.emplace_back(phrase, end); };
  PhraseAutomaton::State state =
      automaton.feed(PhraseAutomaton::kStart, "No memory, Out_of ME", note);
  state = automaton.feed(state, "  mory ERROR err", note);
  automaton.feed(state, "or", note);
  const std::vector<std::pair<std::size_t, std::size_t>> expected{{0, 9}, {1, 6}, {2, 12}, {2, 2}};
  EXPECT_EQ(hits, expected);
}

}  // namespace
}  // namespace snug::doctor::log
