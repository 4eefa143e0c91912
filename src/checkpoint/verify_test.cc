#include "checkpoint/verify.h"

#include <gtest/gtest.h>

#include "checkpoint/checkpoint_store.h"
#include "checkpoint/checkpoint_testing.h"

namespace snug::checkpoint {
namespace {

namespace fs = std::filesystem;
using testing::FaultPlan;
using testing::FaultyFileSystem;
using testing::read_text;
using testing::state_at;
using testing::write_text;

class VerifyTest : public ::testing::Test {
 protected:
  VerifyTest() {
    CheckpointStore store(out_, 3, std::make_unique<FaultyFileSystem>(plan_));
    for (const int iteration : {100, 200}) {
      model_.fill(iteration);
      store.save(state_at(iteration), model_.tensors(), iteration == 100);
    }
  }
  OutDirVerdict verify(const Path& path) {
    return verify_out_dir(path, disk_, [](std::int64_t) {});
  }
  void flip(const Path& file, std::size_t at) {
    std::string bytes = read_text(file);
    bytes.at(at) = static_cast<char>(bytes.at(at) ^ 1);
    write_text(file, bytes);
  }

  testing::TemporaryFolder temporary_;
  Path out_ = temporary_.path() / "out";
  FaultPlan plan_;
  FileSystem disk_;
  testing::TinyModel model_;
};

TEST_F(VerifyTest, AWholeOutDirIsWhole) {
  const OutDirVerdict verdict = verify(out_);
  EXPECT_TRUE(verdict.whole());
  ASSERT_EQ(verdict.checkpoints.size(), 2u);
  EXPECT_EQ(verdict.checkpoints[1].iteration, 200);
  EXPECT_EQ(verdict.checkpoints[1].save_number, 2);
  EXPECT_TRUE(verify(out_ / "step-000100").whole());
  EXPECT_TRUE(verify(out_ / "best").whole());
}

TEST_F(VerifyTest, EveryFlippedByteIsFound) {
  for (const char* name : kCheckpointFiles) {
    const Path file = out_ / "step-000200" / name;
    const std::string whole = read_text(file);
    for (std::size_t at = 0; at + 2 < whole.size(); at += 7) {
      flip(file, at);
      const OutDirVerdict verdict = verify(out_);
      EXPECT_FALSE(verdict.whole()) << name << " at " << at;
      write_text(file, whole);
    }
  }
  EXPECT_TRUE(verify(out_).whole());
}

TEST_F(VerifyTest, LinksThatLeadNowhereOrToAnOlderOneAreTold) {
  fs::remove(out_ / "latest");
  fs::create_symlink("step-000100", out_ / "latest");
  fs::remove(out_ / "best");
  fs::create_symlink("step-000999", out_ / "best");
  const OutDirVerdict verdict = verify(out_);
  ASSERT_EQ(verdict.notes.size(), 1u);
  EXPECT_NE(verdict.notes[0].find("step-000200 was saved later"), std::string::npos);
  ASSERT_EQ(verdict.problems.size(), 1u);
  EXPECT_NE(verdict.problems[0].find("step-000999, which is not there"), std::string::npos);
  EXPECT_FALSE(verdict.whole());
}

// A kill between publishing a checkpoint and moving the link, or between the two renames that put
// one in the place of another, damages nothing: it is told, and no alarm is raised.
TEST_F(VerifyTest, LinksAStepBehindAreNoDamage) {
  fs::remove(out_ / "latest");
  fs::create_symlink("step-000100", out_ / "latest");
  EXPECT_TRUE(verify(out_).whole());
  fs::rename(out_ / "step-000100", out_ / "step-000100.replaced");
  const OutDirVerdict verdict = verify(out_);
  EXPECT_TRUE(verdict.whole());
  ASSERT_EQ(verdict.notes.size(), 2u);  // latest and best
  EXPECT_NE(verdict.notes[0].find("step-000100.replaced"), std::string::npos);
  CheckpointStore(out_, 3).check_writable();  // the next run, even one that saves nothing
  EXPECT_TRUE(verify(out_).notes.empty());
  EXPECT_EQ(fs::read_symlink(out_ / "latest"), "step-000200");
}

TEST_F(VerifyTest, ALinkToNoCheckpointAtAllIsTold) {
  fs::remove(out_ / "latest");
  fs::create_symlink("nowhere", out_ / "latest");
  const OutDirVerdict verdict = verify(out_);
  ASSERT_EQ(verdict.problems.size(), 1u);
  EXPECT_NE(verdict.problems[0].find("latest leads to no checkpoint"), std::string::npos);
  EXPECT_FALSE(verdict.whole());
}

TEST_F(VerifyTest, WhatCannotBeReadIsNotCalledDamaged) {
  FaultPlan plan;
  plan.read_fault_at = 4;
  plan.read_fault_count = 1000;
  FaultyFileSystem failing(plan);
  EXPECT_THROW(verify_out_dir(out_, failing, [](std::int64_t) {}), DeviceError);
  FaultPlan once;
  while (true) {
    once.read_count = 0;
    once.read_log.clear();
    FaultyFileSystem disk(once);
    try {
      const OutDirVerdict verdict = verify_out_dir(out_, disk, [](std::int64_t) {});
      for (const CheckpointVerdict& v : verdict.checkpoints) {
        EXPECT_EQ(v.problem.empty(), !v.unreadable) << v.problem;
      }
      if (once.read_fault_at >= once.read_count) break;
    } catch (const DeviceError&) {
    }
    ++once.read_fault_at;
  }
}

TEST_F(VerifyTest, NothingToVerifyIsSaid) {
  EXPECT_THROW(verify(temporary_.path() / "nowhere"), DataError);
}

}  // namespace
}  // namespace snug::checkpoint
