// Every look at the disk during a save fails in turn, once or several times on end. Whatever
// failed: links lead to whole checkpoints, the newest has the highest number, nothing that was to
// stay is gone, and a save that reports success is the one that a later run loads.
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

struct SaveCase {
  std::string name;
  std::vector<int> before;  // iterations of the saves before, oldest first
  int best;                 // the one of them that is the best
  int iteration;            // of the save with the faults
  bool is_best;             // the same of it
  int keep_count;
};

class SaveWithReadFaults {
 public:
  explicit SaveWithReadFaults(const SaveCase& scenario) : scenario_(scenario) {
    for (const int iteration : scenario.before) save(real(), iteration, iteration == scenario.best);
    before_ = names_in(out_);
  }

  // True when the save reported success.
  bool run(FaultPlan& plan) {
    try {
      save({out_, scenario_.keep_count, std::make_unique<FaultyFileSystem>(plan)},
           scenario_.iteration, scenario_.is_best);
      return true;
    } catch (const DeviceError&) {
      return false;
    }
  }

  void expect_invariants(bool saved) {
    for (const char* link : {"latest", "best"}) {
      if (before_.contains(link)) expect_link_resolves(link);
    }
    expect_kept(saved);
    if (saved) expect_newest(scenario_.iteration);
    save(real(), 9999, false);
    expect_newest(9999);
    expect_link_resolves("best");
  }

 private:
  // Without faults, and without waiting for the disk.
  CheckpointStore real() {
    no_faults_ = {};
    return {out_, scenario_.keep_count, std::make_unique<FaultyFileSystem>(no_faults_)};
  }

  void save(CheckpointStore store, int iteration, bool is_best) {
    model_.fill(iteration);
    store.save(state_at(iteration), model_.tensors(), is_best);
  }

  void expect_link_resolves(const char* link) {
    FileSystem disk;
    ASSERT_TRUE(fs::is_symlink(out_ / link)) << link;
    ASSERT_TRUE(fs::exists(out_ / link)) << link << " leads to " << fs::read_symlink(out_ / link);
    EXPECT_NO_THROW(read_manifest(disk, out_ / link, Parts::kWeightsAndOptimizer)) << link;
  }

  // A failed save removes nothing; one that was done keeps the best and so many of the newest.
  void expect_kept(bool saved) {
    const std::set<std::string> after = names_in(out_);
    const auto expect_there = [&](int iteration) {
      EXPECT_TRUE(after.contains(step_name(iteration))) << step_name(iteration) << " is gone";
    };
    if (!saved) {
      for (const int iteration : scenario_.before) expect_there(iteration);
      return;
    }
    expect_there(scenario_.iteration);
    if (!scenario_.is_best) expect_there(scenario_.best);
    for (int i = 1; i < scenario_.keep_count && i <= std::ssize(scenario_.before); ++i) {
      expect_there(scenario_.before[scenario_.before.size() - static_cast<std::size_t>(i)]);
    }
  }

  void expect_newest(int iteration) {
    model_.fill(0);
    const Loaded loaded = real().load(model_.tensors());
    EXPECT_EQ(loaded.state.iteration, iteration);
    EXPECT_TRUE(model_.holds(iteration));
    EXPECT_EQ(fs::read_symlink(out_ / "latest"), step_name(iteration));
  }

  SaveCase scenario_;
  testing::TemporaryFolder temporary_;
  Path out_ = temporary_.path() / "out";
  std::set<std::string> before_;
  FaultPlan no_faults_;
  TinyModel model_;
};

class ReadFaultTest : public ::testing::TestWithParam<SaveCase> {};

TEST_P(ReadFaultTest, NoFailedLookRemovesOrReordersWhatWasSaved) {
  for (const int error_number : {EIO, EACCES}) {
    for (const int fault_count : {1, 3, 1000}) {
      if (error_number != EIO && fault_count != 1) continue;
      FaultPlan none;
      ASSERT_TRUE(SaveWithReadFaults(GetParam()).run(none));
      int look_count = none.read_count;
      ASSERT_GT(look_count, 15);
      for (int look = 0; look < look_count; ++look) {
        FaultPlan plan;
        plan.read_fault_at = look;
        plan.read_fault_count = fault_count;
        plan.read_error_number = error_number;
        SaveWithReadFaults broken(GetParam());
        const bool saved = broken.run(plan);
        const std::string what = look < plan.read_count ? plan.read_log[std::size_t(look)] : "none";
        SCOPED_TRACE(fmt::format("look {} ({}), {} on end, error {}, {}", look, what, fault_count,
                                 error_number, saved ? "saved" : "not saved"));
        look_count = std::max(look_count, plan.read_count);
        broken.expect_invariants(saved);
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Saves, ReadFaultTest,
    ::testing::Values(SaveCase{"keep_one", {100}, 100, 200, true, 1},
                      SaveCase{"best_elsewhere", {100, 200}, 100, 300, false, 1},
                      SaveCase{"keep_two", {100, 200, 300}, 100, 400, false, 2},
                      SaveCase{"again", {100, 200}, 100, 200, false, 1},
                      SaveCase{"older", {900, 950}, 900, 100, false, 1}),
    [](const auto& scenario) { return scenario.param.name; });

}  // namespace
}  // namespace snug::checkpoint
