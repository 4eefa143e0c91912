// `snug selftest` on the emulated card.
#include <gtest/gtest.h>

#include "testing.h"

namespace snug {
namespace {

TEST(Selftest, PassesOnAnEmulatedCard) {
  const TemporaryFolder folder;
  ProgramSettings settings;
  settings.folder = folder.path("");
  const ProgramResult result =
      run_program({"selftest", "--device=emulated", "--card=rtx3060"}, settings);
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  for (const char* word : {"RTX 3060", "(emulated)", "attention_backward", "adamw", "training in"}) {
    EXPECT_NE(result.out.find(word), std::string::npos) << word;
  }
  EXPECT_EQ(result.out.find("FAILED"), std::string::npos) << result.out;
}

TEST(Selftest, RefusesACardThatIsNotThere) {
  const TemporaryFolder folder;
  ProgramSettings settings;
  settings.folder = folder.path("");
  const ProgramResult result =
      run_program({"selftest", "--device=emulated", "--card=rtx9999"}, settings);
  EXPECT_EQ(result.exit_code, 5) << result.err;
  EXPECT_NE(result.err.find("rtx9999"), std::string::npos);
}

}  // namespace
}  // namespace snug
