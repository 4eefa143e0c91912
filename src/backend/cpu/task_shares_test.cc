#include "backend/cpu/task_shares.h"

#include <gtest/gtest.h>

#include <vector>

namespace snug::cpu {
namespace {

TEST(TaskShares, EveryTaskIsDoneOnce) {
  for (const std::int64_t count : {0, 1, 3, 7, 1000}) {
    std::vector<std::atomic<int>> done(static_cast<std::size_t>(count));
    share_tasks(count, [&](std::int64_t task) { ++done[static_cast<std::size_t>(task)]; });
    for (const std::atomic<int>& times : done) EXPECT_EQ(times, 1);
  }
}

TEST(TaskShares, OnePartAloneDoesItsGroupsTasksInOrderItsOwnFirst) {
  TaskShares shares(12, 4, 2);
  std::vector<std::int64_t> tasks;
  shares.work(3, [&](std::int64_t task) { tasks.push_back(task); });
  EXPECT_EQ(tasks, (std::vector<std::int64_t>{9, 10, 11, 6, 7, 8}));
  tasks.clear();
  shares.work(2, [&](std::int64_t task) { tasks.push_back(task); });
  EXPECT_TRUE(tasks.empty());
  shares.work(0, [&](std::int64_t task) { tasks.push_back(task); });
  EXPECT_EQ(tasks, (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5}));
}

TEST(TaskShares, FewerTasksThanParts) {
  TaskShares shares(2, 8, 8);
  std::vector<std::int64_t> tasks;
  for (int part = 0; part < 8; ++part) {
    shares.work(part, [&](std::int64_t task) { tasks.push_back(task); });
  }
  EXPECT_EQ(tasks, (std::vector<std::int64_t>{0, 1}));
}

}  // namespace
}  // namespace snug::cpu
