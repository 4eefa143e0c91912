#include "doctor/torch/allocator.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "base/bytes.h"

namespace snug::doctor::torch {
namespace {

TEST(TorchAllocator, RoundsRequestsTo512Bytes) {
  EXPECT_EQ(allocator_rounding(1), 512);
  EXPECT_EQ(allocator_rounding(512), 512);
  EXPECT_EQ(allocator_rounding(513), 1024);
  EXPECT_EQ(allocator_rounding(2304), 2560);  // a layer norm's weight of 576
}

TEST(TorchAllocator, AsksForSegments) {
  EXPECT_EQ(allocator_segment_bytes(4), 2 * kMiB);
  EXPECT_EQ(allocator_segment_bytes(kMiB), 2 * kMiB);
  EXPECT_EQ(allocator_segment_bytes(kMiB + 1), 20 * kMiB);
  EXPECT_EQ(allocator_segment_bytes(10 * kMiB - 512), 20 * kMiB);
  EXPECT_EQ(allocator_segment_bytes(10 * kMiB), 10 * kMiB);
  EXPECT_EQ(allocator_segment_bytes(10 * kMiB + 1), 12 * kMiB);
  // "Tried to allocate 394.00 MiB" for the fp32 logits of 2 x 1024 tokens (nanoGPT issue 88).
  EXPECT_EQ(allocator_segment_bytes(std::int64_t{4} * 2 * 1024 * 50304), 394 * kMiB);
}

TEST(TorchAllocator, SmallRequestsShareASegment) {
  TorchAllocator allocator;
  allocator.allocate(4);
  allocator.allocate(600);
  EXPECT_EQ(allocator.allocated_bytes(), 512 + 1024);
  EXPECT_EQ(allocator.reserved_bytes(), 2 * kMiB);
  allocator.allocate(kMiB);
  EXPECT_EQ(allocator.reserved_bytes(), 2 * kMiB);
  allocator.allocate(kMiB);  // 1 MiB less 1536 B is left
  EXPECT_EQ(allocator.reserved_bytes(), 4 * kMiB);
}

// A remainder of up to 1 MiB stays with a large block and counts as allocated.
TEST(TorchAllocator, LeavesSmallRemaindersOfLargeBlocks) {
  TorchAllocator allocator;
  allocator.allocate(11 * kMiB);
  EXPECT_EQ(allocator.allocated_bytes(), 12 * kMiB);
  EXPECT_EQ(allocator.reserved_bytes(), 12 * kMiB);
  TorchAllocator other;
  const TorchAllocator::BlockId block = other.allocate(14 * kMiB);
  other.free(block);
  other.allocate(12 * kMiB);  // 2 MiB remain: split
  EXPECT_EQ(other.allocated_bytes(), 12 * kMiB);
  EXPECT_EQ(other.reserved_bytes(), 14 * kMiB);
}

TEST(TorchAllocator, JoinsFreeNeighboursAndTakesTheBestFit) {
  TorchAllocator allocator;
  std::vector<TorchAllocator::BlockId> blocks;
  for (int i = 0; i < 4; ++i) blocks.push_back(allocator.allocate(5 * kMiB));
  EXPECT_EQ(allocator.reserved_bytes(), 20 * kMiB);
  const TorchAllocator::BlockId large = allocator.allocate(40 * kMiB);
  allocator.free(large);
  for (const int i : {1, 3, 0, 2}) allocator.free(blocks[static_cast<std::size_t>(i)]);
  EXPECT_EQ(allocator.allocated_bytes(), 0);
  allocator.allocate(20 * kMiB);  // the four joined, not half of the 40 MiB
  allocator.allocate(40 * kMiB);
  EXPECT_EQ(allocator.allocated_bytes(), 60 * kMiB);
  EXPECT_EQ(allocator.reserved_bytes(), 60 * kMiB);
}

// Whatever the order: what lives is counted, and what was reserved once serves the same run again.
TEST(TorchAllocator, RandomRunsAddUp) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    TorchAllocator allocator;
    std::int64_t reserved_once = 0;
    for (int round = 0; round < 2; ++round) {
      std::mt19937 random(seed);
      std::vector<TorchAllocator::BlockId> live;
      std::int64_t requested = 0;
      std::vector<std::int64_t> sizes;
      for (int step = 0; step < 300; ++step) {
        if (!live.empty() && random() % 3 == 0) {
          const std::size_t victim = random() % live.size();
          allocator.free(live[victim]);
          requested -= sizes[victim];
          live.erase(live.begin() + static_cast<std::ptrdiff_t>(victim));
          sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(victim));
        } else {
          const std::int64_t bytes = 1 + static_cast<std::int64_t>(random() % (24 * kMiB));
          live.push_back(allocator.allocate(bytes));
          sizes.push_back(bytes);
          requested += bytes;
        }
        ASSERT_GE(allocator.allocated_bytes(), requested);
        ASSERT_GE(allocator.reserved_bytes(), allocator.allocated_bytes());
        ASSERT_LE(allocator.allocated_bytes(),
                  requested + static_cast<std::int64_t>(live.size()) * (kMiB + 512));
      }
      for (const TorchAllocator::BlockId block : live) allocator.free(block);
      EXPECT_EQ(allocator.allocated_bytes(), 0);
      if (round == 0) reserved_once = allocator.reserved_bytes();
    }
    EXPECT_LE(allocator.reserved_bytes(), reserved_once + reserved_once / 2);
  }
}

TEST(TorchAllocator, GivesWholeSegmentsBackBeforeItFails) {
  TorchAllocator allocator({64 * kMiB});
  const TorchAllocator::BlockId first = allocator.allocate(40 * kMiB);
  ASSERT_NE(first, TorchAllocator::kNone);
  EXPECT_EQ(allocator.allocate(30 * kMiB), TorchAllocator::kNone);
  allocator.free(first);  // cached, and too small for what comes
  EXPECT_NE(allocator.allocate(50 * kMiB), TorchAllocator::kNone);
  EXPECT_EQ(allocator.reserved_bytes(), 50 * kMiB);
}

// A tensor in the middle of a segment keeps all of it: what is free does not serve a larger
// request.
TEST(TorchAllocator, PiecesAreLostUnlessSegmentsExpand) {
  for (const bool expandable : {false, true}) {
    TorchAllocator allocator({100 * kMiB, expandable});
    const TorchAllocator::BlockId whole = allocator.allocate(80 * kMiB);
    allocator.free(whole);
    const TorchAllocator::BlockId small = allocator.allocate(12 * kMiB);
    ASSERT_NE(small, TorchAllocator::kNone);
    EXPECT_EQ(allocator.allocate(80 * kMiB) != TorchAllocator::kNone, expandable);
    EXPECT_EQ(allocator.reserved_bytes(), expandable ? 100 * kMiB : 80 * kMiB);
  }
}

TEST(TorchAllocator, ExpandableSegmentsHoldNoMoreThanTheirPages) {
  std::mt19937 random(7);
  TorchAllocator allocator({512 * kMiB, true});
  std::vector<TorchAllocator::BlockId> live;
  for (int i = 0; i < 4000; ++i) {
    if (!live.empty() && random() % 2 == 0) {
      std::swap(live[random() % live.size()], live.back());
      allocator.free(live.back());
      live.pop_back();
      continue;
    }
    const auto block = allocator.allocate(1 + static_cast<std::int64_t>(random() % (24 * kMiB)));
    if (block != TorchAllocator::kNone) live.push_back(block);
    EXPECT_LE(allocator.reserved_bytes(), 512 * kMiB);
    EXPECT_LE(allocator.allocated_bytes(), allocator.reserved_bytes());
  }
  for (const TorchAllocator::BlockId block : live) allocator.free(block);
  EXPECT_EQ(allocator.allocated_bytes(), 0);
  EXPECT_NE(allocator.allocate(480 * kMiB), TorchAllocator::kNone);
}

}  // namespace
}  // namespace snug::doctor::torch
