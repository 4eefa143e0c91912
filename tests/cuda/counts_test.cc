// What the kernels for cards move and multiply, counted: the goals of docs/cuda.md hold, on both
// families of cards that people have.
#include <gtest/gtest.h>

#include "device/kernel_counts.h"

namespace snug::device {
namespace {

class KernelCountsOf : public testing::TestWithParam<const char*> {};

std::string label(const KernelCounts& row) { return row.call + ": " + row.kernel; }

TEST_P(KernelCountsOf, AreWithinTheGoals) {
  ASSERT_TRUE(can_count_kernels());
  const CountedCard card = count_kernels(GetParam());
  EXPECT_GT(card.kernels.size(), 25u);
  int on_tensor_cores = 0, streaming = 0;
  for (const KernelCounts& row : card.kernels) {
    EXPECT_EQ(row.bank_conflicts, 0) << label(row);
    if (row.streams) {
      ++streaming;
      EXPECT_LE(row.memory_ratio(), 1.15) << label(row);
      EXPECT_GE(row.sectors_used, 0.95) << label(row);
      EXPECT_GE(row.requests_used, 0.59) << label(row);  // 32 bytes by two requests of a lane
    }
    if (row.multiply_adds == 0) continue;
    ++on_tensor_cores;
    EXPECT_GE(row.tensor_share(), 0.6) << label(row);
    EXPECT_GE(row.sectors_used, 0.95) << label(row);
  }
  EXPECT_EQ(on_tensor_cores, 3);
  EXPECT_GT(streaming, 18);
}

INSTANTIATE_TEST_SUITE_P(Cards, KernelCountsOf, testing::Values("rtx3060", "rtx4070"));

}  // namespace
}  // namespace snug::device
