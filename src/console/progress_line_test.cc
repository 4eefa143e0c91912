#include "console/progress_line.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace snug {
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
            "iter 1200/5000 ▕██████████          ▏ loss 1.4812  val 1.5120 (floor 1.4100)  "
            "12,345 tok/s  mem 12.00/40.00 MiB  ETA 12m");
}

TEST(ProgressLine, EightyColumnsKeepWhatMattersMost) {
  EXPECT_EQ(progress_line(facts(), 79),
            "iter 1200/5000 ▕███   ▏ loss 1.4812  12,345 tok/s  mem 12.00/40.00 MiB  ETA 12m");
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
  EXPECT_EQ(progress_line(first, 63),
            "iter 1200/5000  12,345 tok/s  mem 512.00 KiB/40.00 MiB  ETA 12m");
}

}  // namespace
}  // namespace snug
