#include "report/narrow.h"

#include <gtest/gtest.h>

#include <sstream>

#include "report/columns.h"

namespace snug::report {
namespace {

TEST(Narrow, WhatFitsStays) {
  const std::string text = "  Fits.  Needs 1 GiB\n\n  weights      1 MiB  ███\n";
  EXPECT_EQ(narrowed(text, 40), text);
  EXPECT_EQ(narrowed("", 40), "");
}

TEST(Narrow, SentencesBreakAtBlanksUnderTheirFirstWord) {
  EXPECT_EQ(narrowed("  less than 5% would stay free: another driver may need that\n", 30),
            "  less than 5% would stay\n  free: another driver may\n  need that\n");
  EXPECT_EQ(narrowed("  剩余不到五成：换一个驱动或显示器就可能不够\n", 24),
            "  剩余不到五成：换一个驱\n  动或显示器就可能不够\n");
}

TEST(Narrow, ARowGoesOnUnderItsFirstField) {
  EXPECT_EQ(narrowed("  recompute nothing            480   5.73  -1.25   -2%  same\n", 34),
            "  recompute nothing            480\n    5.73  -1.25   -2%  same\n");
  EXPECT_EQ(narrowed("  per phase   resume     1.62 GiB   train      4.47 GiB\n", 40),
            "  per phase   resume     1.62 GiB\n    train      4.47 GiB\n");
}

TEST(Narrow, ASentenceStaysBesideItsLabel) {
  EXPECT_EQ(narrowed("  --html=FILE   also a page with the memory over the step\n", 36),
            "  --html=FILE   also a page with the\n                memory over the step\n");
}

// A colour takes no column and is not torn apart.
TEST(Narrow, ColoursTakeNoColumns) {
  const std::string fits = "  \033[1;32mFits.\033[0m  Needs 4.48 GiB\n";
  EXPECT_EQ(narrowed(fits, 23), fits);
  EXPECT_EQ(narrowed(fits, 20), "  \033[1;32mFits.\033[0m  Needs\n         4.48 GiB\n");
}

TEST(Narrow, BarsKeepTheirProportions) {
  const std::string text =
      "  weights    1 GiB  ████████████████\n  gradients  1 GiB  ████████\n  total      2 GiB\n";
  EXPECT_EQ(narrowed(text, 28),
            "  weights    1 GiB  ████████\n  gradients  1 GiB  ████\n  total      2 GiB\n");
  EXPECT_EQ(narrowed(text, 22), "  weights    1 GiB\n  gradients  1 GiB\n  total      2 GiB\n");
}

TEST(Narrow, CommandsStayOneLine) {
  for (const std::string line :
       {"  Run it (▸):   snug train config.py --batch_size=12 --grad_checkpoint=True\n",
        "  with --batch_size=1 --gradient_accumulation_steps=480 \\\n",
        "         --grad_checkpoint=True --loss_chunk=256 --eval_sequences=2400\n"}) {
    EXPECT_EQ(narrowed(line, 30), line);
  }
  EXPECT_EQ(narrowed("  `snug cards` lists all of them\n", 20),
            "  `snug cards` lists\n  all of them\n");
}

TEST(Narrow, NoLineIsLongerThanTheTerminal) {
  const std::string text =
      "    h.*.mlp.fc                           12 × (12, 1024, 3072)    864.00 MiB\n"
      "  per phase   resume     1.62 GiB   evaluate   1.76 GiB   train      4.47 GiB\n"
      "  123.59M parameters · 12 layers × 768 · 12 × 1024 tokens · bfloat16\n";
  for (const std::size_t columns : {20, 30, 40, 60}) {
    std::istringstream lines(narrowed(text, columns));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(columns_of(line), columns) << line;
  }
}

}  // namespace
}  // namespace snug::report
