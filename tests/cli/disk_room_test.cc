// The start of a training asks for the room that its checkpoints will take together, on a disk that
// is really as small as that. The disk is a tmpfs of the program's own; where the system does not
// let one be mounted the tests are skipped.
#include <regex>

#include "cli/testing.h"

namespace snug {
namespace {

class CliDiskRoomTest : public CliTest {
 protected:
  static constexpr std::int64_t kPageBytes = 4096;
  // A checkpoint of 5 MiB: one more than was asked for finds no place in what is rounded up.
  static inline const Words kRun = {"--out_dir=disk/out", "--eval_interval=2", "--max_iters=12",
                                    "--keep_checkpoints=2", "--n_embd=128"};

  void SetUp() override {
    folder_.write("disk/here", "");
    if (train_on_disk(64 * kPageBytes).exit_code == kNoDiskExitCode) {
      GTEST_SKIP() << "no tmpfs can be mounted here";
    }
  }

  ProgramResult train_on_disk(std::int64_t bytes, const Words& more = {}) const {
    ProgramSettings small = settings();
    small.disk = path("disk");
    small.disk_bytes = bytes;
    return run_program(Words{"train"} + tiny(kRun + more), small);
  }

  // From "needs 5.05 MiB (5293056 bytes), ..."
  static std::int64_t needed_bytes(const ProgramResult& refused) {
    std::smatch match;
    const bool found =
        std::regex_search(refused.err, match, std::regex("needs [^(]*\\(([0-9]+) bytes\\)"));
    EXPECT_TRUE(found) << refused.err;
    return found ? std::stoll(match[1]) : 0;
  }
};

// Two kept, the best, and the one being written.
TEST_F(CliDiskRoomTest, AStartNeedsRoomForAllCheckpointsThatAreThereAtOnce) {
  const ProgramResult refused = train_on_disk(64 * kPageBytes);
  expect_error(refused, 5, {"the 4 checkpoints that are there at once", "--keep_checkpoints"});
  const std::int64_t needed = needed_bytes(refused);
  const std::int64_t one_less = (needed / kPageBytes - 1) * kPageBytes;
  expect_error(train_on_disk(one_less), 5, {"the 4 checkpoints"});
  const ProgramResult one_kept = train_on_disk(one_less, {"--keep_checkpoints=1"});
  EXPECT_EQ(one_kept.exit_code, 0) << one_kept.err;
}

// What the start asks for is enough: no save of the run fails for lack of room.
TEST_F(CliDiskRoomTest, WithTheRoomThatWasAskedForEverySaveSucceeds) {
  const std::int64_t needed = needed_bytes(train_on_disk(64 * kPageBytes));
  const ProgramResult trained = train_on_disk((needed / kPageBytes + 1) * kPageBytes);
  EXPECT_EQ(trained.exit_code, 0) << trained.err;
  EXPECT_EQ(trained.out.find("not saved"), std::string::npos) << trained.out;
  EXPECT_EQ(trained.out.find("not enough"), std::string::npos) << trained.out;
  EXPECT_EQ(lines_like(trained.out, "saving checkpoint.*").size(), 7u) << trained.out;
}

}  // namespace
}  // namespace snug
