#include "doctor/snapshot/recorder.h"

#include <gtest/gtest.h>

namespace snug::doctor::snapshot {
namespace {

TEST(SnapshotRecorder, LetsGoOfTheEarliestThatHaveEnded) {
  Recorder recorder(100);
  recorder.add({Action::kAlloc, 1, 1000, 1, 0, kNoStack});  // stays
  for (std::int64_t i = 0; i < 1000; ++i) {
    recorder.add({Action::kAlloc, 100 + i, 10, 2 + i, 0, kNoStack});
    recorder.add({Action::kFree, 100 + i, 10, 2 + i, 0, kNoStack});
  }
  EXPECT_LE(recorder.life_count(), 100u);
  ASSERT_EQ(recorder.held().size(), 1u);
  const std::uint32_t stays = recorder.held().at(1);
  const Trace trace = recorder.finish();
  EXPECT_EQ(trace.event_count, 2001u);
  EXPECT_GT(trace.first_event, 1000u);
  EXPECT_EQ(trace.lives[stays].bytes, 1000);
  EXPECT_EQ(trace.lives[stays].died, kNeverFreed);
  for (const Life& life : trace.lives) EXPECT_GE(life.died, trace.first_event);
}

TEST(SnapshotRecorder, MoreLiveThanItCanKeepAreCountedOnly) {
  Recorder recorder(100);
  for (std::int64_t i = 0; i < 1000; ++i)
    recorder.add({Action::kAlloc, 100 + i, 10, 2 + i, 0, kNoStack});
  EXPECT_LE(recorder.life_count(), 100u);
  EXPECT_EQ(recorder.finish().event_count, 1000u);
}

TEST(SnapshotRecorder, WhatAFailureFound) {
  Recorder recorder;
  recorder.add({Action::kAlloc, 1, 10, 1, 0, kNoStack});
  recorder.add({Action::kOutOfMemory, 0, 99, 2, 7, kNoStack});
  recorder.add({Action::kSegmentFree, 0, 40, 3, 0, kNoStack});
  recorder.add({Action::kFree, 1, 10, 4, 0, kNoStack});
  recorder.add({Action::kFree, 5, 20, 5, 0, kNoStack});  // there before the record, and then
  const Trace trace = recorder.finish();
  ASSERT_TRUE(trace.out_of_memory);
  EXPECT_EQ(trace.out_of_memory->held.size(), 2u);
  EXPECT_EQ(trace.out_of_memory->reserved_change_bytes, -40);
  EXPECT_EQ(trace.out_of_memory_count, 1);
}

}  // namespace
}  // namespace snug::doctor::snapshot
