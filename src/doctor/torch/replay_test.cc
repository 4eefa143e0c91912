#include "doctor/torch/replay.h"

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "doctor/torch/for_test.h"

namespace snug::doctor::torch {
namespace {

TorchRun small_run(std::int64_t batch) {
  TorchRun run = sized_torch_run(12, 12, 768, 1024, 50304, batch);
  run.accumulation_steps = 8;
  return run;
}

TEST(TorchReplay, ACardWithoutEndReservesWhatTheTapeSays) {
  const TorchReplay replay(small_run(2));
  const TorchOutcome outcome = replay.on_card({});
  EXPECT_TRUE(outcome.survives());
  EXPECT_GE(outcome.peak_reserved_bytes, replay.memory().worst().allocated_bytes);
  EXPECT_EQ(outcome.allocated_bytes, 0);  // the tape ends with the run
}

// nanoGPT's 124M in eager mode, batch 8 of 1024 tokens, ran on 12.6 GB and on no less; with
// expandable segments on less than 11 GB.
TEST(TorchReplay, FindsTheSmallestCardOfAMeasuredRun) {
  const TorchReplay replay(small_run(8));
  const TorchReplay::Smallest smallest = replay.smallest_card();
  EXPECT_NEAR(static_cast<double>(smallest.bytes), 12.6e9, 0.15e9);
  EXPECT_EQ(smallest.phase, TorchPhase::kBackward);
  EXPECT_LT(replay.smallest_card(true).bytes, 11'000'000'000);
  EXPECT_FALSE(replay.survives(replay.memory().worst().allocated_bytes - kMiB, true));
}

// A log of PyTorch's own: batch 20 on 12,141,461,504 bytes failed in the first evaluation at the
// fp32 copy of the log-probabilities, with 7,070,043,648 allocated and 9,208,594,432 reserved.
TEST(TorchReplay, FailsWhereARealRunFailed) {
  TorchRun run = small_run(20);
  run.eval_batch_size = 20;
  run.accumulation_steps = 4;
  const TorchReplay replay(run);
  const TorchOutcome outcome = replay.on_card({12'141'461'504});
  ASSERT_FALSE(outcome.survives());
  const TorchTensor& failed = replay.memory().tensors[static_cast<std::size_t>(outcome.failed)];
  EXPECT_EQ(failed.what, "log-probabilities in fp32");
  EXPECT_EQ(failed.phase, TorchPhase::kEvaluateFirst);
  EXPECT_EQ(failed.bytes, 4'120'903'680);
  EXPECT_EQ(outcome.allocated_bytes, 7'070'043'648);
  EXPECT_EQ(outcome.reserved_bytes, 9'208'594'432);
}

}  // namespace
}  // namespace snug::doctor::torch
