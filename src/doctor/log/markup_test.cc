#include "doctor/log/markup.h"

#include <gtest/gtest.h>

namespace snug::doctor::log {
namespace {

TEST(Markup, ReferencesAndTagsBecomeText) {
  const std::string_view page =
      "<p class=\"x\">CUDA out of memory.&nbsp;Tried to allocate&nbsp;394.00&nbsp;MiB<br/>if it is "
      "&gt;&gt; &#39;allocated&#39;</p>";
  ASSERT_TRUE(has_markup(page));
  EXPECT_EQ(without_markup(page),
            " CUDA out of memory. Tried to allocate 394.00 MiB if it is >> 'allocated' ");
}

TEST(Markup, NumbersAndSpacesThatDoNotBreak) {
  EXPECT_EQ(without_markup("Tried&#32;to&#x20;allocate&#160;2.00\xC2\xA0MiB &#40;GPU 0&#x29;"),
            "Tried to allocate 2.00 MiB (GPU 0)");
  for (const std::string_view line :
       {"&#;", "&#x;", "&#10;", "&#12345678901234;", "&#3", "\xC3\xA4"})
    EXPECT_FALSE(has_markup(line)) << line;
}

TEST(Markup, LeavesPythonAlone) {
  for (const std::string_view line :
       {"  File \"train.py\", line 300, in <module>", "if a < b and b > c:", "x = a & b",
        "<class 'torch.Tensor'>", "<p", "&nbsp", "<", "&"}) {
    EXPECT_FALSE(has_markup(line)) << line;
    EXPECT_EQ(without_markup(line), line);
  }
}

}  // namespace
}  // namespace snug::doctor::log
