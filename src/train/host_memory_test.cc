#include "train/host_memory.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/bytes.h"
#include "base/error.h"

namespace snug {
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
}  // namespace snug
