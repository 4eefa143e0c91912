#include "machine/host_memory.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "base/test_directory.h"

namespace snug::machine {
namespace {

TEST(HostMemory, IsConsistent) {
  const HostMemory memory = host_memory();
  EXPECT_GT(memory.available_bytes, 0);
  EXPECT_LE(memory.available_bytes, memory.total_bytes);
  EXPECT_FALSE(memory.limited_by.empty());
}

TEST(HostMemory, PeakFollowsWhatIsTouched) {
  const std::int64_t before = peak_resident_bytes();
  std::vector<char> block(64 * kMiB, 1);
  EXPECT_GE(peak_resident_bytes() + kMiB, before + static_cast<std::int64_t>(block.size()) / 2);
  EXPECT_LE(resident_bytes(), peak_resident_bytes() + kMiB);
}

// A /sys/fs/cgroup of our own, on a machine with 64 GiB of which 32 are free.
class CgroupMemory : public ::testing::Test {
 protected:
  struct Held {
    std::int64_t used_bytes = 0, cache_bytes = 0;  // used includes cache
  };
  void group2(const std::string& path, const std::string& limit, Held held) {
    write(path + "/memory.max", limit);
    write(path + "/memory.current", std::to_string(held.used_bytes));
    write(path + "/memory.stat", "anon 1\nfile 2\ninactive_file " +
                                     std::to_string(held.cache_bytes / 2) + "\nactive_file " +
                                     std::to_string(held.cache_bytes / 2) + "\nslab 3");
  }
  void group1(const std::string& path, std::int64_t limit, Held held) {
    write(path + "/memory.limit_in_bytes", std::to_string(limit));
    write(path + "/memory.usage_in_bytes", std::to_string(held.used_bytes));
    write(path + "/memory.stat", "cache 5\ninactive_file 7\nactive_file 7\ntotal_inactive_file " +
                                     std::to_string(held.cache_bytes) + "\ntotal_active_file 0");
  }
  void write(const std::string& name, const std::string& text) {
    folder_.write("mount/" + name, text + "\n");
  }
  void expect(const std::string& membership, std::int64_t total, std::int64_t available) const {
    const HostMemory found = within_cgroups({64 * kGiB, 32 * kGiB, "machine"},
                                            (folder_.path() / "mount").string(), membership);
    EXPECT_EQ(found.total_bytes, total);
    EXPECT_EQ(found.available_bytes, available);
    EXPECT_EQ(found.limited_by, available < 32 * kGiB ? "cgroup" : "machine");
  }
  TestDirectory folder_;
};

TEST_F(CgroupMemory, NoGroupsChangeNothing) {
  expect("", 64 * kGiB, 32 * kGiB);
  expect("0::/\n", 64 * kGiB, 32 * kGiB);
  expect("garbage\n:\n::\n", 64 * kGiB, 32 * kGiB);
}

TEST_F(CgroupMemory, Version2LimitsWithoutThePageCache) {
  group2("app", std::to_string(8 * kGiB), {7 * kGiB, 6 * kGiB});
  expect("0::/app\n", 8 * kGiB, 7 * kGiB);
  group2("app", std::to_string(8 * kGiB), {9 * kGiB, 0});  // a limit lowered afterwards
  expect("0::/app\n", 8 * kGiB, 0);
  group2("app", std::to_string(8 * kGiB), {1 * kGiB, 2 * kGiB});  // read at different moments
  expect("0::/app\n", 8 * kGiB, 8 * kGiB);
}

TEST_F(CgroupMemory, MaxIsNoLimit) {
  group2("app", "max", {7 * kGiB, 0});
  expect("0::/app\n", 64 * kGiB, 32 * kGiB);
}

TEST_F(CgroupMemory, TheTightestOfNestedGroupsCounts) {
  group2("slice", std::to_string(4 * kGiB), {3 * kGiB, 0});
  group2("slice/app", std::to_string(8 * kGiB), {1 * kGiB, 0});
  group2("slice/app/leaf", "max", {1 * kGiB, 0});
  expect("0::/slice/app/leaf\n", 4 * kGiB, 1 * kGiB);
  expect("0::/other\n", 64 * kGiB, 32 * kGiB);
}

TEST_F(CgroupMemory, MountOfAContainerIsItsOwnGroup) {
  group2("", std::to_string(2 * kGiB), {1 * kGiB, 0});
  expect("0::/\n", 2 * kGiB, 1 * kGiB);
  expect("0::/docker/of-the-host\n", 2 * kGiB, 1 * kGiB);
  expect("0::/../beside\n", 2 * kGiB, 1 * kGiB);
}

TEST_F(CgroupMemory, Version1FollowsItsOwnLine) {
  group1("memory", 9223372036854771712, {20 * kGiB, 0});  // what version 1 has for no limit
  group1("memory/slice", 6 * kGiB, {5 * kGiB, 4 * kGiB});
  group1("memory/slice/app", 10 * kGiB, {2 * kGiB, 0});
  expect("3:cpu,cpuacct:/elsewhere\n4:memory:/slice/app\n", 6 * kGiB, 5 * kGiB);
  expect("4:cpu,memory:/slice/app\n", 6 * kGiB, 5 * kGiB);
  expect("4:memory:/\n1:name=systemd:/slice/app\n", 64 * kGiB, 32 * kGiB);
}

TEST_F(CgroupMemory, HybridHasBoth) {
  group1("memory/app", 6 * kGiB, {1 * kGiB, 0});
  expect("4:memory:/app\n0::/app\n", 6 * kGiB, 5 * kGiB);
  group2("unified/app", std::to_string(3 * kGiB), {1 * kGiB, 0});
  expect("4:memory:/app\n0::/app\n", 3 * kGiB, 2 * kGiB);
}

TEST(HostMemory, ReadsBudgets) {
  const HostMemory memory{10 * kGiB, 4 * kGiB, "machine"};
  EXPECT_EQ(budget_bytes("auto", memory), 4 * kGiB);
  EXPECT_EQ(budget_bytes("50%", memory), 5 * kGiB);
  EXPECT_EQ(budget_bytes("12GiB", memory), 12 * kGiB);
  for (const char* bad : {"", "%", "120%", "0%", "plenty", "-3GiB"}) {
    EXPECT_THROW(budget_bytes(bad, memory), ConfigError) << bad;
  }
}

}  // namespace
}  // namespace snug::machine
