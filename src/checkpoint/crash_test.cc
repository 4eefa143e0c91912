// A save is stopped at each of its operations in turn, by an error or by a loss of power; after
// every one of them there must be a whole checkpoint to load, and the next save must work.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <string>

#include "checkpoint/checkpoint_store.h"
#include "checkpoint/checkpoint_testing.h"

namespace snug::checkpoint {
namespace {

namespace fs = std::filesystem;
using testing::FaultPlan;
using testing::FaultyFileSystem;
using testing::names_in;
using testing::state_at;
using testing::TinyModel;

// What is there before the save, and the save.
struct Scenario {
  std::string name;
  std::vector<int> before;  // iterations
  int iteration;
  int keep_count;
};

// What a loss of power takes with it. A disk may remember a removal sooner than a rename before it.
enum class Loss { kNothing, kUnsynced, kUnsyncedButRemovals };

// A save that breaks off, and the run that comes after it, in a folder of their own. The content of
// a checkpoint tells which save made it: seed 1 for those before, 2 for the one that breaks off.
class BrokenSave {
 public:
  explicit BrokenSave(const Scenario& scenario) : scenario_(scenario) {
    fs::create_directory(temporary_.path() / "graveyard");
    for (const int iteration : scenario.before) save_whole(iteration, 1);
  }

  // True when the save went through; the fault was beyond its end.
  bool run(FaultPlan& plan, Loss loss) {
    if (loss != Loss::kUnsyncedButRemovals) plan.graveyard = temporary_.path() / "graveyard";
    bool done = false;
    try {
      CheckpointStore store(out_, scenario_.keep_count, std::make_unique<FaultyFileSystem>(plan));
      save(store, scenario_.iteration, 2);
      done = true;
    } catch (const testing::PowerLoss&) {
      EXPECT_EQ(plan.error_number, 0);
    } catch (const DeviceError&) {
      EXPECT_NE(plan.error_number, 0);
    }
    if (loss != Loss::kNothing) plan.lose_unsynced();
    return done;
  }

  // The next run starts after a kill, and then the power goes.
  void restart_and_lose_power(FaultPlan& plan) {
    plan.fault_at = -1;
    plan.graveyard.clear();
    CheckpointStore store(out_, scenario_.keep_count, std::make_unique<FaultyFileSystem>(plan));
    store.check_writable();
    plan.lose_unsynced();
  }

  void expect_whole_checkpoint(bool must_be_new) {
    model_.fill(0);
    const CheckpointStore store(out_, scenario_.keep_count);
    if (scenario_.before.empty() && !must_be_new && !store.peek()) return;
    const Loaded loaded = store.load(model_.tensors());
    const int seed = static_cast<int>(loaded.state.seed);
    EXPECT_TRUE(model_.holds(seed));
    EXPECT_TRUE(loaded.warnings.empty()) << loaded.warnings[0];
    EXPECT_EQ(loaded.state.iteration, seed == 2 ? scenario_.iteration : scenario_.before.back());
    EXPECT_TRUE(seed == 2 || !must_be_new);
  }

  void expect_no_temporaries() {
    for (const std::string& name : testing::names_in(out_))
      EXPECT_FALSE(name.starts_with(".tmp-")) << name;
  }

  void expect_next_save_works() {
    save_whole(1000, 3);
    expect_no_temporaries();
    for (const std::string& name : testing::names_in(out_))
      EXPECT_FALSE(name.ends_with(".replaced"));
    EXPECT_EQ(fs::read_symlink(out_ / "latest"), "step-001000");
    EXPECT_EQ(CheckpointStore(out_, 1).load(model_.tensors()).state.iteration, 1000);
    EXPECT_TRUE(model_.holds(3));
  }

 private:
  void save(CheckpointStore& store, int iteration, int seed) {
    model_.fill(seed);
    TrainingState state = testing::state_at(iteration);
    state.seed = static_cast<std::uint64_t>(seed);
    store.save(state, model_.tensors(), true);
  }
  void save_whole(int iteration, int seed) {
    FaultPlan no_faults;
    CheckpointStore store(out_, scenario_.keep_count,
                          std::make_unique<FaultyFileSystem>(no_faults));
    save(store, iteration, seed);
  }

  Scenario scenario_;
  testing::TemporaryFolder temporary_;
  Path out_ = temporary_.path() / "out";
  TinyModel model_;
};

class CrashTest : public ::testing::TestWithParam<Scenario> {};

TEST_P(CrashTest, ALossOfPowerAtAnyOperationLosesNothingSaved) {
  for (const Loss loss : {Loss::kNothing, Loss::kUnsynced, Loss::kUnsyncedButRemovals}) {
    bool done = false;
    for (int operation = 0; !done; ++operation) {
      SCOPED_TRACE(fmt::format("operation {}, loss {}", operation, static_cast<int>(loss)));
      FaultPlan plan;
      plan.fault_at = operation;
      BrokenSave broken(GetParam());
      done = broken.run(plan, loss);
      broken.expect_whole_checkpoint(done);
      broken.expect_next_save_works();
      EXPECT_TRUE(!done || operation > 20);
    }
  }
}

TEST_P(CrashTest, AKillAtAnyOperationAndALossOfPowerAfterTheRestartLoseNothingSaved) {
  bool done = false;
  for (int operation = 0; !done; ++operation) {
    SCOPED_TRACE(fmt::format("operation {}", operation));
    FaultPlan plan;
    plan.fault_at = operation;
    BrokenSave broken(GetParam());
    done = broken.run(plan, Loss::kNothing);
    broken.restart_and_lose_power(plan);
    broken.expect_whole_checkpoint(done);
  }
}

TEST_P(CrashTest, AnErrorAtAnyOperationLosesNothingSaved) {
  for (const int error_number : {ENOSPC, EIO}) {
    FaultPlan plan;
    for (int operation = 0; operation <= plan.operation_count; ++operation) {
      SCOPED_TRACE(fmt::format("operation {}, error {}", operation, error_number));
      plan = {};
      plan.fault_at = operation;
      plan.error_number = error_number;
      BrokenSave broken(GetParam());
      const bool done = broken.run(plan, Loss::kNothing);
      broken.expect_whole_checkpoint(done);
      broken.expect_next_save_works();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Saves, CrashTest,
                         ::testing::Values(Scenario{"first", {}, 100, 1},
                                           Scenario{"next", {100}, 200, 1},
                                           Scenario{"again", {100}, 100, 1},
                                           Scenario{"many", {100, 200, 300}, 400, 2},
                                           Scenario{"older", {900}, 100, 1}),
                         [](const auto& scenario) { return scenario.param.name; });

TEST(DiskFull, TellsWhatWasNeededAndLeavesNoTemporary) {
  const testing::TemporaryFolder folder;
  TinyModel model;
  FaultPlan plan;
  plan.fault_at = 6;  // a write of the first file; the folders above were made before it
  plan.error_number = ENOSPC;
  CheckpointStore store(folder.path(), 1, std::make_unique<FaultyFileSystem>(plan));
  try {
    store.save(testing::state_at(100), model.tensors(), false);
    FAIL() << "saved on a full disk";
  } catch (const DeviceError& error) {
    const std::string message = error.what();
    for (const char* part : {"iteration 100 not saved", "No space left on device", "needs 1.00 MiB",
                             "free in", "saved before are intact"}) {
      EXPECT_NE(message.find(part), std::string::npos) << message;
    }
  }
  EXPECT_TRUE(testing::names_in(folder.path()).empty());
}

}  // namespace
}  // namespace snug::checkpoint
