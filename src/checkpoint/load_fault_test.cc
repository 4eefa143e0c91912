// Every look at the disk of a load fails in turn: what cannot be read now is neither missing nor
// damaged, and no training goes on as if it were.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "checkpoint/checkpoint_store.h"
#include "checkpoint/checkpoint_testing.h"

namespace snug::checkpoint {
namespace {

using testing::FaultPlan;
using testing::FaultyFileSystem;
using testing::TinyModel;

class LoadFaultTest : public ::testing::Test {
 protected:
  CheckpointStore faulty_store(FaultPlan& plan) {
    return {out_, 3, std::make_unique<FaultyFileSystem>(plan)};
  }
  void save(int iteration) {
    FaultPlan none;
    model_.fill(iteration);
    faulty_store(none).save(testing::state_at(iteration), model_.tensors(), false);
  }

  testing::TemporaryFolder temporary_;
  Path out_ = temporary_.path() / "out";
  TinyModel model_;
};

// A disk that fails for a moment: a training that went on from the one before would throw away what
// was trained since, and in time the newest itself. Sampling may take it, and says so.
TEST_F(LoadFaultTest, NoTrainingGoesOnFromAnOlderOneBecauseTheNewestCannotBeRead) {
  save(100);
  save(200);
  int refused_count = 0, sampled_older_count = 0;
  for (int look = 0;; ++look) {
    FaultPlan training, building, sampling;
    training.read_fault_at = building.read_fault_at = sampling.read_fault_at = look;
    try {
      EXPECT_EQ(faulty_store(training).load(model_.tensors()).state.iteration, 200) << look;
    } catch (const DeviceError&) {
      ++refused_count;
    }
    try {
      EXPECT_EQ(faulty_store(building).peek()->state.iteration, 200) << look;
    } catch (const DeviceError&) {
    }
    try {
      const Loaded loaded = faulty_store(sampling).load(model_.weights_only());
      EXPECT_EQ(loaded.state.iteration == 100, !loaded.warnings.empty()) << look;
      sampled_older_count += loaded.state.iteration == 100 ? 1 : 0;
    } catch (const DeviceError&) {
    }
    if (look >= training.read_count) break;
  }
  EXPECT_GT(refused_count, 5);
  EXPECT_GT(sampled_older_count, 0);
}

TEST_F(LoadFaultTest, TheOnlyOneThatCannotBeReadIsNotCalledUnusable) {
  save(100);
  for (int look = 0;; ++look) {
    FaultPlan plan;
    plan.read_fault_at = look;
    const CheckpointStore failing = faulty_store(plan);
    try {
      failing.load(model_.tensors());
      break;
    } catch (const DeviceError&) {  // never DataError, which would say that it is damaged
    }
    ASSERT_LT(look, 100);
  }
}

// The number of the next save is unknown then; nothing is trained that could not be saved as the
// newest.
TEST_F(LoadFaultTest, NoTrainingStartsWhileACheckpointCannotBeRead) {
  save(100);
  FaultPlan counted;
  faulty_store(counted).check_writable();
  int refused_count = 0;
  for (int look = 0; look < counted.read_count; ++look) {
    if (counted.read_log[std::size_t(look)].find("state.json") == std::string::npos) continue;
    FaultPlan plan;
    plan.read_fault_at = look;
    CheckpointStore failing = faulty_store(plan);
    EXPECT_THROW(failing.check_writable(), DeviceError) << counted.read_log[std::size_t(look)];
    ++refused_count;
  }
  EXPECT_GT(refused_count, 1);
}

}  // namespace
}  // namespace snug::checkpoint
