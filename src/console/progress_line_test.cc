#include "console/progress_line.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace snug::console {
namespace {

ProgressFacts facts() {
  return {1200, 5000, 0.5, 1.48123, 1.512, " (floor 1.4100)", 12345, 12 << 20, 40 << 20, 750};
}

std::size_t columns_of(const std::string& utf8) {
  return static_cast<std::size_t>(
      std::count_if(utf8.begin(), utf8.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

TEST(ProgressLine, WideTerminalShowsEverything) {
  EXPECT_EQ(progress_line(facts(), 200),
            "iter 1200/5000 ▕██████████          ▏ loss 1.4812   val 1.5120 (floor 1.4100)   "
            " 12,345 tok/s  mem 12.00/40.00 MiB  ETA 12m    ");
}

TEST(ProgressLine, EightyColumnsKeepWhatMattersMost) {
  EXPECT_EQ(progress_line(facts(), 79),
            "iter 1200/5000 loss 1.4812    12,345 tok/s  mem 12.00/40.00 MiB  ETA 12m    ");
}

// Nothing is cut in two.
TEST(ProgressLine, FortyColumnsLoseTheRateFirstAndThenTheTimeLeft) {
  EXPECT_EQ(progress_line(facts(), 39), "iter 1200/5000 ▕████     ▏ loss 1.4812 ");
  EXPECT_EQ(progress_line(facts(), 40), "iter 1200/5000 loss 1.4812   ETA 12m    ");
}

// Every digit may change, and what is not known yet may become known: no field moves.
TEST(ProgressLine, KeepsItsShapeAsDigitsChange) {
  ProgressFacts other = facts();
  other.iteration = 7;
  other.loss = 10.9;
  other.val_loss = NAN;
  other.tokens_per_second = 812;
  other.resident_bytes = 9 << 20;
  other.seconds_left = 23 * 3600 + 59 * 60;
  for (std::size_t columns = 50; columns < 160; ++columns) {
    const std::string one = progress_line(facts(), columns), two = progress_line(other, columns);
    EXPECT_EQ(columns_of(one), columns_of(two)) << columns;
    for (const char* field : {"tok/s", "mem", "ETA"}) {
      EXPECT_EQ(columns_of(one.substr(0, one.find(field))),
                columns_of(two.substr(0, two.find(field))));
    }
  }
}

TEST(ProgressLine, NeverWiderThanTheTerminalWhereTheFirstPartsFit) {
  const std::size_t least = columns_of(progress_line(facts(), 0));
  for (std::size_t columns = least; columns < 150; ++columns) {
    EXPECT_LE(columns_of(progress_line(facts(), columns)), columns);
  }
}

TEST(ProgressLine, UnknownLossesAreLeftOutAndUnitsMayDiffer) {
  ProgressFacts first = facts();
  first.loss = first.val_loss = NAN;
  first.resident_bytes = 512 << 10;
  EXPECT_EQ(progress_line(first, 84),
            "iter 1200/5000                12,345 tok/s  mem 512.00 KiB/40.00 MiB  ETA 12m    ");
}

}  // namespace
}  // namespace snug::console
