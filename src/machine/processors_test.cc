#include "machine/processors.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/test_directory.h"

namespace snug::machine {
namespace {

class CpuQuota : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) {
    folder_.write("mount/" + name, text + "\n");
  }
  int cores(const std::string& membership) const {
    return within_cpu_quota(8, (folder_.path() / "mount").string(), membership);
  }
  TestDirectory folder_;
};

TEST_F(CpuQuota, WithoutGroupsAllCoresCount) {
  EXPECT_EQ(cores(""), 8);
  EXPECT_EQ(cores("0::/somewhere/else\n"), 8);
  EXPECT_EQ(within_cpu_quota(1), 1);
}

TEST_F(CpuQuota, Version2OfTheGroupAndOfAllAboveIt) {
  write("cpu.max", "max 100000");
  write("box/cpu.max", "250000 100000");
  write("box/inner/cpu.max", "max 100000");
  EXPECT_EQ(cores("0::/\n"), 8);
  EXPECT_EQ(cores("0::/box/inner\n"), 3);  // 2.5 cores
  write("box/inner/cpu.max", "50000 100000");
  EXPECT_EQ(cores("0::/box/inner\n"), 1);
  EXPECT_EQ(cores("0::/box/inner/../../elsewhere\n"), 8);
}

TEST_F(CpuQuota, Version1) {
  write("cpu/cpu.cfs_quota_us", "-1");
  write("cpu/cpu.cfs_period_us", "100000");
  write("cpu/docker/ab/cpu.cfs_quota_us", "200000");
  write("cpu/docker/ab/cpu.cfs_period_us", "100000");
  EXPECT_EQ(cores("3:cpu,cpuacct:/\n"), 8);
  EXPECT_EQ(cores("5:memory:/docker/ab\n3:cpu,cpuacct:/docker/ab\n"), 2);
}

TEST_F(CpuQuota, NonsenseIsNoLimit) {
  for (const char* text : {"", "x y", "0 100000", "100000 0", "-5 -5", "100000"}) {
    write("cpu.max", text);
    EXPECT_EQ(cores("0::/\n"), 8) << text;
  }
  write("cpu.max", "99999999999 100000");
  EXPECT_EQ(cores("0::/\n"), 8);
}

TEST(LoadMeter, CountsBusyTimeButNotIdleWaitingOrNice) {
  //                              user nice system idle iowait irq softirq steal
  EXPECT_EQ(busy_seconds("cpu  100 7000 200 9999 8888 30 20 50 0 0\ncpu0 1 2 3\n", 100), 4.0);
  EXPECT_EQ(busy_seconds("cpu  100 7000 200", 100), std::nullopt);
  EXPECT_EQ(busy_seconds("", 100), std::nullopt);
}

TEST(LoadMeter, NeedsATenthOfASecond) {
  const LoadMeter meter;
  EXPECT_EQ(meter.cores_of_others(), std::nullopt);
  std::this_thread::sleep_for(std::chrono::milliseconds(120));
  const auto others = meter.cores_of_others();
  ASSERT_TRUE(others);
  EXPECT_GE(*others, 0.0);
}

}  // namespace
}  // namespace snug::machine
