// The plan against the machine: what the process really had resident at its peak.
#include <iostream>

#include "cli/testing.h"
#include "machine/host_memory.h"

namespace snug {
namespace {

constexpr const char* kSanitizedReason = "a sanitizer's own memory is not in the plan";

struct PlannedBytes {
  std::int64_t arena = 0, total = 0, sample_arena = 0;
};

class CliMemoryTest : public CliTest {
 protected:
  PlannedBytes planned(const Words& arguments) const {
    const ProgramResult plan = run(Words{"plan", "--json"} + arguments);
    EXPECT_EQ(plan.exit_code, 0) << plan.err;
    const nlohmann::json json = parsed_json(plan.out);
    return {json.at("arena_bytes"), json.at("total_bytes"), json.at("phases").at("sample")};
  }

  // The kernel counts into ru_maxrss what this process held when it forked, so the numbers mean
  // something only above that.
  void expect_within(const ProgramResult& result, const PlannedBytes& plan) const {
    ASSERT_EQ(result.exit_code, 0) << result.err;
    ASSERT_LT(machine::resident_bytes(), plan.arena) << "the arena is too small for this test";
    EXPECT_LE(result.peak_bytes, plan.total);
    EXPECT_GE(result.peak_bytes, plan.arena);
  }
};

// Large enough to be told from the program itself (some 40 MiB), small enough to be quick.
Words medium(const Words& more) {
  return tiny(Words{"--n_layer=4", "--n_head=4", "--n_embd=64", "--block_size=128",
                    "--batch_size=12", "--max_iters=1", "--eval_iters=1", "--eval_interval=1"} +
              more);
}

class CliMemoryGrid : public CliMemoryTest, public ::testing::WithParamInterface<Words> {};

TEST_P(CliMemoryGrid, PeakStaysWithinThePlanAndTheArenaIsReal) {
  if (kSanitized) GTEST_SKIP() << kSanitizedReason;
  const Words settings = medium(GetParam());
  const PlannedBytes plan = planned(settings);
  const ProgramResult result = run(Words{"train"} + settings);
  expect_within(result, plan);
  std::cout << "arena " << plan.arena << ", measured " << result.peak_bytes << ", planned "
            << plan.total << " bytes\n";
}

INSTANTIATE_TEST_SUITE_P(
    Settings, CliMemoryGrid,
    ::testing::Values(Words{}, Words{"--threads=1"}, Words{"--threads=2", "--dropout=0.1"},
                      Words{"--batch_size=4", "--gradient_accumulation_steps=3", "--n_layer=8"},
                      Words{"--grad_checkpoint=True", "--n_layer=12"},
                      Words{"--checkpoint_blocks=2", "--bias=True"},
                      Words{"--batch_size=2", "--eval_batch_size=64"},
                      Words{"--loss_chunk=100000", "--vocab_size=5000"},
                      Words{"--n_embd=256", "--vocab_size=20000", "--block_size=32",
                            "--batch_size=2"}));

TEST_F(CliMemoryTest, ResumeNeedsNoMoreThanAFreshStart) {
  if (kSanitized) GTEST_SKIP() << kSanitizedReason;
  const Words settings = medium({"--n_embd=256", "--block_size=32"});
  ASSERT_EQ(run(Words{"train"} + settings).exit_code, 0);
  const Words longer = settings + Words{"--max_iters=3", "--init_from=resume"};
  const PlannedBytes plan = planned(settings);
  const ProgramResult resumed = run(Words{"train"} + longer);
  expect_within(resumed, plan);
  std::cout << "resume: measured " << resumed.peak_bytes << ", planned " << plan.total << "\n";
}

TEST_F(CliMemoryTest, SamplingStaysWithinTheTrainingPlan) {
  if (kSanitized) GTEST_SKIP() << kSanitizedReason;
  const Words settings = medium({"--n_embd=256", "--n_layer=8", "--batch_size=1"});
  ASSERT_EQ(run(Words{"train"} + settings).exit_code, 0);
  const PlannedBytes plan = planned(settings);
  const ProgramResult sampled = run({"sample", "--num_samples=1", "--max_new_tokens=200"});
  ASSERT_EQ(sampled.exit_code, 0) << sampled.err;
  EXPECT_LE(sampled.peak_bytes, plan.total);
  EXPECT_GE(sampled.peak_bytes, plan.sample_arena);
  std::cout << "sample: arena " << plan.sample_arena << ", measured " << sampled.peak_bytes << "\n";
}

// Data is read by position, never mapped or held.
TEST_F(CliMemoryTest, MemoryDoesNotGrowWithTheData) {
  if (kSanitized) GTEST_SKIP() << kSanitizedReason;
  const Words settings = medium({});
  const PlannedBytes plan = planned(settings);
  const ProgramResult small = run(Words{"train"} + settings);
  const std::string once = read("data/small/train.bin");
  std::ofstream large(path("data/small/train.bin"), std::ios::binary);
  for (std::size_t bytes = 0; bytes < (std::size_t{48} << 20); bytes += once.size()) large << once;
  large.close();
  const ProgramResult result = run(Words{"train"} + settings);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_LE(result.peak_bytes, plan.total);
  EXPECT_LT(result.peak_bytes, small.peak_bytes + (std::int64_t{16} << 20));
}

}  // namespace
}  // namespace snug
