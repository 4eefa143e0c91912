#include "report/shell_command.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace snug::report {
namespace {

using Lines = std::vector<std::string>;

TEST(ShellCommand, BreaksBetweenWordsWithABackslash) {
  EXPECT_EQ(command_lines({"snug", "plan", "--a=1"}, 20), Lines{"snug plan --a=1"});
  EXPECT_EQ(command_lines({"snug", "plan", "--a=1", "--b=2"}, 18),
            (Lines{"snug plan --a=1 \\", "  --b=2"}));
  EXPECT_EQ(command_lines({"snug", "'a word that is longer than a line'", "x"}, 12),
            (Lines{"snug \\", "  'a word that is longer than a line' \\", "  x"}));
  EXPECT_TRUE(command_lines({}, 12).empty());
}

TEST(ShellCommand, TheLabelStandsBeforeTheFirstLine) {
  EXPECT_EQ(wrapped_command("  with ", {"--batch_size=4"}), "  with --batch_size=4\n");
  const std::string word(64, 'x');
  EXPECT_EQ(wrapped_command("  Run it:   ", {"snug", word, "--batch_size=4"}),
            fmt::format("  Run it:   snug \\\n{0}{1} \\\n{0}--batch_size=4\n", std::string(14, ' '),
                        word));
}

}  // namespace
}  // namespace snug::report
