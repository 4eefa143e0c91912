// The laws of docs/architecture.md on the real engine: the plan is the allocation, ops touch what
// they declare, and no memory setting changes a bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>

#include "engine_testing.h"
#include "plan/liveness.h"

namespace snug {
namespace {

struct Trained {
  std::string bytes;
  std::vector<double> losses;
};

Trained train_a_little(const config::Config& config) {
  SmallRun run(config);
  Trained trained;
  for (std::int64_t iteration = 0; iteration < 3; ++iteration) {
    const train::StepResult result = run.engine().step(iteration);
    EXPECT_TRUE(result.updated);
    trained.losses.push_back(result.loss);
  }
  trained.bytes = run.bytes();
  return trained;
}

// The laws hold in every precision of the arithmetic.
constexpr const char* kPrecisions[] = {"float32", "bfloat16", "float16"};

class LawOne : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Precisions, LawOne, testing::ValuesIn(kPrecisions),
                         [](const auto& param_info) { return std::string(param_info.param); });

TEST_P(LawOne, PlannedBytesAreTheArenasBytes) {
  config::Config config = small_config();
  config.dtype = GetParam();
  SmallRun run(config);
  EXPECT_EQ(run.executor().arena().byte_count(), run.plan().plan.arena_bytes);
  plan::verify_plan(run.plan().program, run.plan().plan);
}

// Compares the whole arena before and after every op: a byte that changed must belong to a tensor
// that the op lists as written, or to its scratch.
TEST_P(LawOne, OpsWriteOnlyWhatTheyDeclare) {
  config::Config config = small_config();
  config.dtype = GetParam();
  config.checkpoint_blocks = 1;
  SmallRun run(config, 5000, true);
  const program::Program& program = run.plan().program;
  const plan::Plan& plan = run.plan().plan;
  const auto arena_bytes = static_cast<std::size_t>(plan.arena_bytes);
  const std::byte* arena = run.executor().arena().data();
  std::vector<std::byte> before(arena_bytes);
  const program::Phase* last_phase = nullptr;
  const ops::Op* last_op = nullptr;
  int checked = 0;

  const auto check = [&] {
    std::vector<bool> allowed(arena_bytes, false);
    const auto allow = [&](std::int64_t offset, std::int64_t bytes) {
      std::fill_n(allowed.begin() + offset, bytes, true);
    };
    ops::for_each_operand(*last_op, [&](std::string_view, TensorId id, ops::Access access) {
      if (access == ops::Access::kRead || program.tensor(id).space != plan.space) return;
      allow(plan.tensor_offset[static_cast<std::size_t>(id)], program.tensor(id).byte_count());
    });
    const auto p = static_cast<std::size_t>(last_phase - program.phases.data());
    const auto o = static_cast<std::size_t>(last_op - last_phase->ops.data());
    const plan::ScratchPlace& scratch = plan.scratch[p][o];
    if (scratch.byte_count > 0) allow(scratch.offset, scratch.byte_count);
    for (std::size_t i = 0; i < arena_bytes; ++i) {
      ASSERT_TRUE(arena[i] == before[i] || allowed[i]) << last_op->label << ", byte " << i;
    }
    ++checked;
  };
  run.executor().observe(
      [&](const program::Phase& phase, const ops::Op& op, std::int64_t, std::int64_t) {
        const bool host_was_here = &op == phase.ops.data();  // it fills batches between phases
        if (last_op != nullptr && !host_was_here) check();
        last_phase = &phase;
        last_op = &op;
        std::memcpy(before.data(), arena, arena_bytes);
      });
  run.engine().step(0);
  run.engine().evaluate(train::Split::kVal, 0);
  EXPECT_GT(checked, 100);
}

// Before every op, all bytes that the plan holds to be free are filled with NaN: an op that read
// something it does not declare, or a lifetime that ended too early, would change the result.
TEST_P(LawOne, OpsReadOnlyWhatIsAlive) {
  for (const std::int64_t checkpointed : {0, 2}) {
    config::Config config = small_config();
    config.dtype = GetParam();
    config.checkpoint_blocks = checkpointed;
    config.loss_chunk = 2 * config.block_size;
    SmallRun plain(config), poisoned(config);
    const program::Program& program = poisoned.plan().program;
    const plan::Plan& plan = poisoned.plan().plan;
    std::byte* arena = poisoned.executor().arena().data();
    const std::vector<plan::Block> blocks = plan::live_blocks(program);
    std::vector<std::int32_t> first_step;  // of each phase
    std::int32_t steps = 0;
    for (const program::Phase& phase : program.phases) {
      first_step.push_back(steps);
      steps += static_cast<std::int32_t>(phase.ops.size());
    }
    poisoned.executor().observe(
        [&](const program::Phase& phase, const ops::Op& op, std::int64_t, std::int64_t) {
          const auto p = static_cast<std::size_t>(&phase - program.phases.data());
          const auto step = first_step[p] + static_cast<std::int32_t>(&op - phase.ops.data());
          std::vector<std::pair<std::int64_t, std::int64_t>> alive = {{plan.arena_bytes, 0}};
          for (const plan::Block& block : blocks) {
            if (block.tensor == kNoTensor || step < block.first || step > block.last) continue;
            if (program.tensor(block.tensor).space != plan.space) continue;
            const auto offset = plan.tensor_offset[static_cast<std::size_t>(block.tensor)];
            alive.emplace_back(offset, offset + block.bytes);
          }
          std::sort(alive.begin(), alive.end());
          std::int64_t at = 0;
          for (const auto& [begin, end] : alive) {
            std::memset(arena + at, 0xff, static_cast<std::size_t>(begin - at));
            at = end;
          }
        });
    for (std::int64_t iteration = 0; iteration < 2; ++iteration) {
      EXPECT_EQ(plain.engine().evaluate(train::Split::kVal, iteration),
                poisoned.engine().evaluate(train::Split::kVal, iteration));
      EXPECT_EQ(plain.engine().step(iteration).loss, poisoned.engine().step(iteration).loss);
    }
    EXPECT_TRUE(plain.bytes() == poisoned.bytes());
  }
}

TEST(LawTwo, EvaluationAndResumeAreInThePlan) {
  config::Config config = small_config();
  config.eval_batch_size = 200;
  config.n_layer = 1;
  config.vocab_size = 11;
  const SmallRun run(config);
  const program::Program& program = run.plan().program;
  std::map<program::PhaseKind, std::int64_t> need;
  for (std::size_t p = 0; p < program.phases.size(); ++p) {
    need[program.phases[p].kind] = run.plan().plan.phase_bytes[p];
  }
  // Here evaluation is the peak, and the arena is sized for it.
  EXPECT_EQ(need[program::PhaseKind::kEvaluate], run.plan().plan.lower_bound_bytes);
  EXPECT_LE(need[program::PhaseKind::kLoad], need[program::PhaseKind::kMicroStep]);
  EXPECT_LE(need[program::PhaseKind::kSave], need[program::PhaseKind::kMicroStep]);
}

TEST(LawThree, LogitsNeverExistWhole) {
  config::Config config = small_config();
  config.loss_chunk = 37;
  const SmallRun run(config);
  for (const Tensor& tensor : run.plan().program.tensors) {
    const bool of_vocabulary = tensor.shape.rank() == 2 && tensor.shape[1] == config.vocab_size;
    EXPECT_TRUE(!of_vocabulary || tensor.shape[0] == 37) << tensor.name;
  }
}

struct Variation {
  const char* name;
  std::function<void(config::Config&)> change;
};

void PrintTo(const Variation& variation, std::ostream* out) { *out << variation.name; }

class LawFour : public testing::TestWithParam<Variation> {};

TEST_P(LawFour, WeightsAreTheSameBitForBit) {
  static const Trained baseline = train_a_little(small_config());
  config::Config config = small_config();
  GetParam().change(config);
  const Trained varied = train_a_little(config);
  EXPECT_EQ(varied.losses, baseline.losses);
  EXPECT_TRUE(varied.bytes == baseline.bytes);
}

void split(config::Config& c, std::int64_t batch, std::int64_t steps) {
  c.batch_size = batch;
  c.gradient_accumulation_steps = steps;
}

INSTANTIATE_TEST_SUITE_P(
    MemorySettings, LawFour,
    testing::Values(Variation{"same_again", [](config::Config&) {}},
                    Variation{"split_6x2", [](config::Config& c) { split(c, 6, 2); }},
                    Variation{"split_4x3", [](config::Config& c) { split(c, 4, 3); }},
                    Variation{"split_3x4", [](config::Config& c) { split(c, 3, 4); }},
                    Variation{"split_2x6", [](config::Config& c) { split(c, 2, 6); }},
                    Variation{"split_1x12", [](config::Config& c) { split(c, 1, 12); }},
                    Variation{"checkpoint_1", [](config::Config& c) { c.checkpoint_blocks = 1; }},
                    Variation{"checkpoint_2", [](config::Config& c) { c.checkpoint_blocks = 2; }},
                    Variation{"checkpoint_all", [](config::Config& c) { c.checkpoint_blocks = 3; }},
                    Variation{"keep_all", [](config::Config& c) { c.recompute_light = false; }},
                    Variation{"keep_all_checkpoint_2",
                              [](config::Config& c) {
                                c.recompute_light = false;
                                c.checkpoint_blocks = 2;
                              }},
                    Variation{"chunk_one_sequence", [](config::Config& c) { c.loss_chunk = 37; }},
                    Variation{"chunk_five_sequences",
                              [](config::Config& c) { c.loss_chunk = 5 * 37 + 3; }},
                    Variation{"chunk_one_row", [](config::Config& c) { c.loss_chunk = 1; }},
                    Variation{"eval_batch_5", [](config::Config& c) { c.eval_batch_size = 5; }},
                    Variation{"eval_block_11", [](config::Config& c) { c.eval_block_size = 11; }},
                    Variation{"everything",
                              [](config::Config& c) {
                                split(c, 3, 4);
                                c.checkpoint_blocks = 2;
                                c.loss_chunk = 40;
                                c.eval_batch_size = 1;
                              }}),
    [](const auto& param_info) { return std::string(param_info.param.name); });

// Another precision trains another run, but again one that no memory setting changes.
TEST(LawFour, HoldsInSixteenBits) {
  const std::string exact = train_a_little(small_config()).bytes;
  for (const char* dtype : {"bfloat16", "float16"}) {
    SCOPED_TRACE(dtype);
    config::Config config = small_config();
    config.dtype = dtype;
    const Trained baseline = train_a_little(config);
    EXPECT_EQ(baseline.bytes.size(), exact.size());  // masters and moments are float32
    EXPECT_FALSE(baseline.bytes == exact);
    const auto expect_same = [&](const char* what) {
      const Trained varied = train_a_little(config);
      EXPECT_EQ(varied.losses, baseline.losses) << what;
      EXPECT_TRUE(varied.bytes == baseline.bytes) << what;
    };
    expect_same("again");
    config.recompute_light = false;
    expect_same("keep all");
    config.checkpoint_blocks = 2;
    expect_same("keep all, checkpoint 2");
    split(config, 3, 4);
    config.recompute_light = true;
    config.loss_chunk = 40;
    config.eval_batch_size = 1;
    expect_same("everything");
    split(config, 1, 12);
    config.loss_chunk = 1;
    expect_same("one sequence at a time");
  }
}

// Moments in bfloat16 train another run, but again one that no memory setting changes: their
// rounding is keyed by iteration, parameter and element.
TEST(LawFour, HoldsForMomentsInBfloat16) {
  config::Config config = small_config();
  config.optimizer_dtype = "bfloat16";
  const Trained baseline = train_a_little(config);
  EXPECT_EQ(train_a_little(config).bytes, baseline.bytes);
  EXPECT_LT(baseline.bytes.size(), train_a_little(small_config()).bytes.size());
  split(config, 3, 4);
  config.checkpoint_blocks = 2;
  config.loss_chunk = 40;
  const Trained varied = train_a_little(config);
  EXPECT_EQ(varied.losses, baseline.losses);
  EXPECT_TRUE(varied.bytes == baseline.bytes);
}

// The first loss, and the mean of those of iterations 50 to 59, on text that can be learnt by
// heart.
std::array<double, 2> first_and_last_losses(const config::Config& config) {
  SmallRun run(config, 200);
  const double first = run.engine().step(0).loss;
  for (std::int64_t i = 1; i < 50; ++i) run.engine().step(i);
  double sum = 0;
  for (std::int64_t i = 50; i < 60; ++i) sum += run.engine().step(i).loss;
  return {first, sum / 10};
}

// Learning barely notices.
TEST(Training, MomentsInBfloat16LearnAlike) {
  config::Config config = small_config();
  config.dropout = 0;
  const auto [first, exact] = first_and_last_losses(config);
  config.optimizer_dtype = "bfloat16";
  const double rounded = first_and_last_losses(config)[1];
  EXPECT_NE(rounded, exact);
  EXPECT_NEAR(first - rounded, first - exact, 0.002 * (first - exact));
}

// Losses differ by what rounding the activations costs, and the text is learnt all the same.
TEST(Training, SixteenBitsLearnAlike) {
  config::Config config = small_config();
  config.dropout = 0;
  const auto [first, exact] = first_and_last_losses(config);
  for (const auto& [dtype, precision] : {std::pair{"bfloat16", 0x1p-8}, {"float16", 0x1p-11}}) {
    config.dtype = dtype;
    const auto [first_rounded, rounded] = first_and_last_losses(config);
    EXPECT_NEAR(first_rounded, first, precision * first) << dtype;
    EXPECT_NE(rounded, exact) << dtype;
    EXPECT_NEAR(first - rounded, first - exact, 0.02 * (first - exact)) << dtype;
  }
}

// What overflows float16 costs an update and half of the scale, nothing else.
TEST(Training, OverflowInFloat16SkipsTheUpdate) {
  config::Config config = small_config();
  config.dtype = "float16";
  SmallRun run(config);
  run.set_first_weight(7e4f);  // infinite in float16
  const std::string before = run.bytes();
  const train::StepResult result = run.engine().step(0);
  EXPECT_TRUE(result.skipped);
  EXPECT_FALSE(result.updated);
  EXPECT_TRUE(run.bytes() == before);
  EXPECT_EQ(run.engine().loss_scale().factor, 32768);
  EXPECT_EQ(run.engine().loss_scale().skipped_updates, 1);
}

// Sequences longer than a tile of the loss head: chunk borders inside a sequence.
TEST(LawFour, ChunksThatCutASequenceChangeNothing) {
  for (const char* dtype : kPrecisions) {
    SCOPED_TRACE(dtype);
    config::Config config = small_config();
    config.dtype = dtype;
    config.n_layer = 1;
    config.block_size = config.eval_block_size = 600;  // tiles of 256, 256 and 88 rows
    config.batch_size = config.eval_batch_size = 2;
    const Trained whole = train_a_little(config);
    for (const std::int64_t rows : {256, 512, 700}) {
      config.loss_chunk = rows;
      EXPECT_TRUE(train_a_little(config).bytes == whole.bytes) << rows;
    }
  }
}

TEST(LawFour, AnotherEffectiveBatchOrSeedIsAnotherRun) {
  const Trained baseline = train_a_little(small_config());
  config::Config config = small_config();
  config.seed = 8;
  EXPECT_FALSE(train_a_little(config).bytes == baseline.bytes);
  config = small_config();
  split(config, 11, 1);
  EXPECT_NE(train_a_little(config).losses, baseline.losses);
}

TEST(LawFour, EvaluationLossDoesNotDependOnItsBatch) {
  config::Config config = small_config();
  SmallRun run(config);
  const double train_loss = *run.engine().evaluate(train::Split::kTrain, 5);
  const double val_loss = *run.engine().evaluate(train::Split::kVal, 5);
  EXPECT_NE(train_loss, val_loss);
  for (const std::int64_t size : {1, 5, 7, 24, 100}) {
    config.eval_batch_size = size;
    SmallRun other(config);
    EXPECT_EQ(*other.engine().evaluate(train::Split::kTrain, 5), train_loss) << size;
    EXPECT_EQ(*other.engine().evaluate(train::Split::kVal, 5), val_loss) << size;
  }
}

TEST(LawFour, EvaluationLeavesTrainingAlone) {
  config::Config config = small_config();
  SmallRun plain(config), evaluated(config);
  for (std::int64_t iteration = 0; iteration < 3; ++iteration) {
    plain.engine().step(iteration);
    evaluated.engine().evaluate(train::Split::kVal, iteration);
    evaluated.engine().step(iteration);
    evaluated.engine().evaluate(train::Split::kTrain, iteration);
  }
  EXPECT_TRUE(plain.bytes() == evaluated.bytes());
}

TEST(Training, LearnsWhatCanBeLearned) {
  config::Config config = small_config();
  config.dropout = 0;
  const auto [first, last] = first_and_last_losses(config);
  EXPECT_NEAR(first, std::log(61.0), 0.3);  // of 61 tokens any
  EXPECT_LT(last, 0.5 * first);
}

// Also more than there are panels, heads or sequences. Bits may depend on it (oneDNN), not more.
TEST(Training, RunsOnAnyNumberOfThreads) {
  config::Config config = small_config();
  config.batch_size = 2;
  config.gradient_accumulation_steps = 1;
  config.dropout = 0;
  double by_one = 0;
  for (const std::int64_t threads : {1, 3, 5, 8, 20}) {
    config.threads = threads;
    const double last = first_and_last_losses(config)[1];
    if (threads == 1) by_one = last;
    EXPECT_NEAR(last, by_one, 0.02 * by_one) << threads;
  }
}

TEST(Training, AbandonedIterationLeavesNoTrace) {
  config::Config config = small_config();
  split(config, 4, 3);
  SmallRun plain(config), stopped(config);
  plain.engine().step(0);
  const train::StepResult cut =
      stopped.engine().step(0, [](std::int64_t done, std::int64_t) { return done < 2; });
  EXPECT_FALSE(cut.updated);
  stopped.engine().step(0);
  EXPECT_TRUE(plain.bytes() == stopped.bytes());
}

TEST(Training, NonFiniteLossKeepsTheWeights) {
  SmallRun run(small_config());
  run.set_first_weight(NAN);
  const std::string before = run.bytes();
  const train::StepResult result = run.engine().step(0);
  EXPECT_FALSE(result.updated);
  EXPECT_TRUE(std::isnan(result.loss));
  EXPECT_TRUE(run.bytes() == before);
}

}  // namespace
}  // namespace snug
