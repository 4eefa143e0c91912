#include "backend/cpu/team_gauge.h"

#include <gtest/gtest.h>

#include <vector>

#include "backend/cpu/task_shares.h"
#include "backend/cpu/threads.h"

namespace snug::cpu {
namespace {

using Clock = TeamGauge::Clock;
using std::chrono::microseconds;

// Regions of eight tasks, one after the other; the first thread takes 100 us for each of its own.
class Regions {
 public:
  void add(std::int64_t own_count, Clock::duration waited) {
    const Clock::time_point own_end = now_ + own_count * microseconds(100);
    gauge.add({8, own_count, now_, own_end, own_end + waited});
    now_ = own_end + waited;
  }
  bool alone() const { return gauge.prefers_alone(now_); }
  bool alone_after(Clock::duration time) const { return gauge.prefers_alone(now_ + time); }

  TeamGauge gauge;

 private:
  Clock::time_point now_{std::chrono::hours(1)};
};

TEST(TeamGauge, AHelpfulTeamStaysTogether) {
  Regions regions;
  for (int i = 0; i < 1000; ++i) regions.add(4, microseconds(20));
  EXPECT_FALSE(regions.alone());
}

TEST(TeamGauge, AWaitLongerThanTheOthersWorkIsNotWaitedForAgain) {
  Regions regions;
  regions.add(7, microseconds(3000));  // below a window: too little to judge by
  EXPECT_FALSE(regions.alone());
  for (int i = 0; i < 5; ++i) regions.add(7, microseconds(3000));
  EXPECT_TRUE(regions.alone());
  EXPECT_TRUE(regions.alone_after(TeamGauge::kShortestAlone / 2));
  EXPECT_FALSE(regions.alone_after(TeamGauge::kShortestAlone));
}

// One long wait in a window of work that was well shared.
TEST(TeamGauge, AHiccupIsNoReasonToWorkAlone) {
  Regions regions;
  for (int i = 0; i < 30; ++i) regions.add(4, microseconds(0));
  regions.add(4, microseconds(10000));
  EXPECT_FALSE(regions.alone());
}

TEST(TeamGauge, WhatIsLostAgainIsTriedLessOften) {
  Regions regions;
  for (int i = 0; i < 60; ++i) regions.add(7, microseconds(6000));
  EXPECT_TRUE(regions.alone_after(TeamGauge::kLongestAlone - microseconds(1)));
  EXPECT_FALSE(regions.alone_after(TeamGauge::kLongestAlone));
  for (int i = 0; i < 1000; ++i) regions.add(4, microseconds(0));
  regions.add(7, TeamGauge::kWindow);
  EXPECT_TRUE(regions.alone());
  EXPECT_FALSE(regions.alone_after(TeamGauge::kShortestAlone));
}

TEST(TeamGauge, ARegionInWhichTheFirstThreadDidNothingTellsNothing) {
  Regions regions;
  for (int i = 0; i < 20; ++i) regions.add(0, microseconds(6000));
  EXPECT_FALSE(regions.alone());
}

// The task is then the caller's, who has number 0 as in a team.
TEST(TeamGauge, AloneEveryTaskIsTheCallersAndInOrder) {
  const ThreadCountScope scope(2);
  const auto now = Clock::now();
  TeamGauge& gauge = TeamGauge::of_this_thread();
  gauge.add({8, 7, now, now + std::chrono::milliseconds(1), now + std::chrono::hours(1)});
  ASSERT_TRUE(works_alone());
  std::vector<std::int64_t> tasks;
  share_tasks(5, [&](std::int64_t task) {
    EXPECT_EQ(omp_in_parallel(), 0);
    tasks.push_back(task);
  });
  EXPECT_EQ(tasks, (std::vector<std::int64_t>{0, 1, 2, 3, 4}));
  gauge = {};
}

}  // namespace
}  // namespace snug::cpu
