// Saves on a disk that fails at a chosen moment: what is told, what is tried again, what is lost.
#include "train/run_saver.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "base/temporary_folder.h"
#include "train/random_run.h"

namespace snug::train {
namespace {

using checkpoint::FileError;
using checkpoint::Path;

// What writes fails: always, or at one operation of those that come.
struct Trouble {
  bool full = false;
  int fails_at = -1;
  int count = 0;
};

class TroubledDisk : public checkpoint::FileSystem {
 public:
  explicit TroubledDisk(Trouble& trouble) : trouble_(trouble) {}

  std::size_t write_some(int descriptor, const Path& path,
                         std::span<const std::byte> bytes) override {
    pass(path);
    return FileSystem::write_some(descriptor, path, bytes);
  }
  void sync_file(int, const Path& path) override { pass(path); }
  void sync_folder(const Path& path) override { pass(path); }
  bool create_folder(const Path& path) override {
    pass(path);
    return FileSystem::create_folder(path);
  }
  void rename(const Path& from, const Path& to) override {
    pass(to);
    FileSystem::rename(from, to);
  }

 private:
  void pass(const Path& path) {
    if (trouble_.full || trouble_.count++ == trouble_.fails_at) {
      throw FileError("write", path, ENOSPC);
    }
  }

  Trouble& trouble_;
};

class RunSaverTest : public ::testing::Test {
 protected:
  RunSaverTest() {
    config::Config& config = run_.config.values;
    config.n_layer = config.n_head = 1;
    config.n_embd = 8;
    config.block_size = config.eval_block_size = 8;
    config.batch_size = config.eval_batch_size = 2;
    config.gradient_accumulation_steps = 1;
    config.vocab_size = 16;
    config.out_dir = folder_.path("out");
    run_.device = std::make_unique<device::CpuDevice>(config);
    run_.plan = plan::plan_training(config, config.vocab_size, run_.device->target());
    write_random_tokens(folder_.path("tokens.bin"), 100, config.vocab_size, 1);
    for (auto* tokens : {&run_.train_tokens, &run_.val_tokens}) {
      *tokens = std::make_unique<data::TokenFile>(
          folder_.path("tokens.bin"), data::TokenFileNeeds{config.vocab_size, config.block_size});
    }
    run_.engine = std::make_unique<TrainingEngine>(config, *run_.plan, *run_.device,
                                                   *run_.train_tokens, *run_.val_tokens);
    run_.engine->initialize();
    run_.store = std::make_unique<checkpoint::CheckpointStore>(
        config.out_dir, 1, std::make_unique<TroubledDisk>(trouble_));
    run_.store->check_writable();
    run_.state.config_json = config::config_to_json(config);
  }

  // What try_save() said and told.
  struct Try {
    bool saved;
    std::string told;
  };
  Try try_at(RunSaver& saver, std::int64_t iteration) {
    checkpoint::TrainingState state = run_.state;
    state.iteration = iteration;
    ::testing::internal::CaptureStdout();
    bool saved = false;
    try {
      saved = saver.try_save(state, false);
    } catch (...) {
      ::testing::internal::GetCapturedStdout();
      throw;
    }
    return {saved, ::testing::internal::GetCapturedStdout()};
  }

  std::int64_t newest_on_disk() const {
    const checkpoint::CheckpointStore store(run_.config.values.out_dir, 1);
    const auto found = store.peek();
    return found ? found->state.iteration : -1;
  }

  static constexpr RunSaver::Patience kAtOnce{std::chrono::seconds(0), 3};

  TemporaryFolder folder_;
  Trouble trouble_;
  StartedRun run_;
  std::optional<RunMetrics> metrics_;
  console::Console console_{console::Progress::kQuiet};
};

TEST_F(RunSaverTest, AFailureIsToldAndTriedAgain) {
  RunSaver saver(run_, metrics_, console_, kAtOnce);
  EXPECT_FALSE(saver.retry_due());
  trouble_.full = true;
  const Try failed = try_at(saver, 1);
  EXPECT_FALSE(failed.saved);
  EXPECT_NE(failed.told.find("warning: "), std::string::npos) << failed.told;
  EXPECT_NE(failed.told.find("the run goes on and tries again"), std::string::npos) << failed.told;
  EXPECT_EQ(saver.saved_iteration(), -1);
  EXPECT_TRUE(saver.retry_due());
  trouble_.full = false;
  EXPECT_TRUE(try_at(saver, 2).saved);
  EXPECT_EQ(saver.saved_iteration(), 2);
  EXPECT_EQ(newest_on_disk(), 2);
  EXPECT_FALSE(saver.retry_due());
}

TEST_F(RunSaverTest, GivesUpAfterSoManyFailures) {
  RunSaver saver(run_, metrics_, console_, kAtOnce);
  trouble_.full = true;
  EXPECT_FALSE(try_at(saver, 1).saved);
  EXPECT_FALSE(try_at(saver, 2).saved);
  EXPECT_THROW(try_at(saver, 3), checkpoint::SaveFailed);
}

// A run that evaluates every second has failed as long as one that does so every minute.
TEST_F(RunSaverTest, FailuresWithinAnIntervalCountOnce) {
  RunSaver saver(run_, metrics_, console_, {std::chrono::hours(1), 2});
  trouble_.full = true;
  for (int i = 1; i < 10; ++i) EXPECT_FALSE(try_at(saver, i).saved);
  EXPECT_FALSE(saver.retry_due());
}

TEST_F(RunSaverTest, WhatIsNotATryThrows) {
  RunSaver saver(run_, metrics_, console_, kAtOnce);
  trouble_.full = true;
  EXPECT_THROW(saver.save(run_.state, false), checkpoint::SaveFailed);
}

// Each operation of a save in turn: what was there before stays, and the next try succeeds.
TEST_F(RunSaverTest, AfterAnyFailureTheNextTrySaves) {
  RunSaver saver(run_, metrics_, console_, kAtOnce);
  ASSERT_TRUE(try_at(saver, 1).saved);
  int failures = 0;
  for (std::int64_t iteration = 2;; ++iteration) {
    const std::int64_t before = saver.saved_iteration();
    trouble_ = {.fails_at = static_cast<int>(iteration) - 2};
    const bool saved = try_at(saver, iteration).saved;
    if (trouble_.count <= trouble_.fails_at) break;  // the save was over before
    failures += saved ? 0 : 1;
    EXPECT_EQ(saver.saved_iteration(), saved ? iteration : before);
    EXPECT_GE(newest_on_disk(), saver.saved_iteration());
    trouble_ = {};
    EXPECT_TRUE(try_at(saver, iteration).saved);
    EXPECT_EQ(newest_on_disk(), iteration);
  }
  EXPECT_GE(failures, 5);
}

}  // namespace
}  // namespace snug::train
