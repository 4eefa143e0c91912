// `snug train` from start to end: nanoGPT's lines, what lies in out_dir afterwards, and weights
// that do not depend on how the memory was used.
#include "cli/testing.h"

namespace snug {
namespace {

constexpr const char* kNumber = "[0-9]+\\.[0-9]{4}";

std::string iteration_line() {
  return std::string("iter [0-9]+: loss ") + kNumber +
         ", time [0-9]+\\.[0-9]{2}ms, mfu -?[0-9]+\\.[0-9]{2}%.*";
}
std::string evaluation_line() {
  return std::string("step [0-9]+: train loss ") + kNumber + ", val loss " + kNumber + ".*";
}

// The number after the first word of each line.
std::vector<int> numbers_of(const Words& lines) {
  std::vector<int> numbers;
  for (const std::string& line : lines) numbers.push_back(std::stoi(line.substr(5)));
  return numbers;
}

TEST_F(CliTest, TrainPrintsTheLinesOfNanoGpt) {
  const ProgramResult run = train({"--gradient_accumulation_steps=25"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.err, "");
  EXPECT_EQ(lines_like(run.out, "tokens per iteration will be: 1,600").size(), 1u) << run.out;
  EXPECT_EQ(lines_like(run.out, "number of parameters: 0\\.01M").size(), 1u) << run.out;
  // Evaluations at 0 and every 4; max_iters + 1 updates.
  EXPECT_EQ(numbers_of(lines_like(run.out, evaluation_line())), (std::vector{0, 4, 8}));
  EXPECT_EQ(numbers_of(lines_like(run.out, iteration_line())),
            (std::vector{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
  // After the evaluations but the first, and at the end.
  EXPECT_EQ(lines_like(run.out, "saving checkpoint to out").size(), 3u) << run.out;
  EXPECT_EQ(lines_like(run.out, "peak memory .* of .* planned").size(), 1u) << run.out;
}

TEST_F(CliTest, LogIntervalThinsTheLines) {
  const ProgramResult run = train({"--log_interval=5"});
  EXPECT_EQ(numbers_of(lines_like(run.out, iteration_line())), (std::vector{0, 5, 10}));
}

TEST_F(CliTest, TrainLowersTheLoss) {
  const ProgramResult run = train({"--max_iters=60", "--lr_decay_iters=60", "--eval_interval=60"});
  const auto entries = metrics("out");
  ASSERT_GE(entries.size(), 2u) << run.err;
  EXPECT_LT(entries.back().at("loss").get<double>(), entries[1].at("loss").get<double>() - 0.5);
}

TEST_F(CliTest, MetricsHoldEveryIterationAndEvaluation) {
  ASSERT_EQ(train().exit_code, 0);
  std::vector<int> iterations, evaluations;
  for (const auto& entry : metrics("out")) {
    const bool evaluation = entry.contains("val_loss");
    (evaluation ? evaluations : iterations).push_back(entry.at("iter"));
    for (const char* key : {"loss", "lr", "grad_norm", "time_ms", "tokens_per_second"}) {
      EXPECT_EQ(entry.contains(key), !evaluation) << entry;
    }
  }
  EXPECT_EQ(iterations, (std::vector{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
  EXPECT_EQ(evaluations, (std::vector{0, 4, 8}));
}

// Its last line is a command to copy.
TEST_F(CliTest, TheSuggestedCommandIsOneOfAShell) {
  const ProgramResult result = train({"--out_dir=a run"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  expect_holds(result.out, {"snug sample '--out_dir=a run'"});
}

TEST_F(CliTest, EvalOnlyEvaluatesAndStops) {
  const ProgramResult run = train({"--eval_only=True"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(lines_like(run.out, evaluation_line()).size(), 1u) << run.out;
  EXPECT_EQ(lines_like(run.out, iteration_line()).size(), 0u) << run.out;
  EXPECT_FALSE(exists("out"));
}

TEST_F(CliTest, EvalOnlyOfAFinishedRunEvaluatesIt) {
  ASSERT_EQ(train().exit_code, 0);
  const FileBytes before = weights_and_optimizer("out");
  const ProgramResult run = train({"--init_from=resume", "--eval_only=True"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(numbers_of(lines_like(run.out, evaluation_line())), (std::vector{11})) << run.out;
  EXPECT_EQ(lines_like(run.out, iteration_line()).size(), 0u) << run.out;
  EXPECT_EQ(weights_and_optimizer("out"), before);
}

TEST_F(CliTest, EvalOnlyInAUsedFolderChangesNothing) {
  ASSERT_EQ(train().exit_code, 0);
  const FileBytes before = weights_and_optimizer("out");
  const std::string log = read("out/metrics.jsonl");
  ASSERT_EQ(train({"--eval_only=True"}).exit_code, 0);
  EXPECT_EQ(weights_and_optimizer("out"), before);
  EXPECT_EQ(read("out/metrics.jsonl"), log);
  EXPECT_FALSE(exists("out/earlier-1"));
}

TEST_F(CliTest, EvalOnlyNeedsNoWritableFolder) {
  folder_.write("file", "");
  const ProgramResult run = train({"--eval_only=True", "--out_dir=file/out"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
}

TEST_F(CliTest, WithoutAlwaysSaveTheBestIsKept) {
  ASSERT_EQ(train({"--always_save_checkpoint=False"}).exit_code, 0);
  EXPECT_TRUE(exists("out/best/model.safetensors"));
  EXPECT_TRUE(exists("out/latest/model.safetensors"));
}

TEST_F(CliTest, KeepCheckpointsBoundsWhatStays) {
  ASSERT_EQ(train({"--eval_interval=2", "--keep_checkpoints=3"}).exit_code, 0);
  int steps = 0;
  for (const auto& entry : std::filesystem::directory_iterator(path("out"))) {
    steps += entry.path().filename().string().rfind("step-", 0) == 0;
  }
  EXPECT_GE(steps, 3);
  EXPECT_LE(steps, 4);  // the best one may be older
}

TEST_F(CliTest, IdenticalRunsWriteIdenticalModels) {
  const Words lively = {"--dropout=0.1", "--bias=True"};
  ASSERT_EQ(train(lively + Words{"--out_dir=a"}).exit_code, 0);
  ASSERT_EQ(train(lively + Words{"--out_dir=b"}).exit_code, 0);
  EXPECT_EQ(weights_and_optimizer("a"), weights_and_optimizer("b"));
  ASSERT_EQ(train(lively + Words{"--out_dir=c", "--seed=2"}).exit_code, 0);
  EXPECT_NE(model("a"), model("c"));
}

TEST_F(CliTest, MemorySettingsNeverChangeTheWeights) {
  const Words base = {"--dropout=0.1", "--batch_size=12"};
  ASSERT_EQ(train(base + Words{"--out_dir=base"}).exit_code, 0);
  const FileBytes wanted = weights_and_optimizer("base");
  const std::vector<Words> variants = {
      {"--batch_size=4", "--gradient_accumulation_steps=3"},
      {"--batch_size=1", "--gradient_accumulation_steps=12"},
      {"--grad_checkpoint=True"},
      {"--checkpoint_blocks=1"},
      {"--eval_batch_size=1", "--eval_block_size=8"},
      {"--loss_chunk=5"},
      {"--batch_size=6", "--gradient_accumulation_steps=2", "--grad_checkpoint=True",
       "--loss_chunk=7", "--eval_batch_size=5"},
  };
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const std::string out_dir = "variant" + std::to_string(i);
    const ProgramResult run = train(base + variants[i] + Words{"--out_dir=" + out_dir});
    ASSERT_EQ(run.exit_code, 0) << run.err;
    EXPECT_EQ(weights_and_optimizer(out_dir), wanted) << variants[i][0];
  }
}

TEST_F(CliTest, NewRunInAUsedFolderKeepsTheEarlierOne) {
  ASSERT_EQ(train({"--seed=1"}).exit_code, 0);
  const FileBytes earlier = model("out");
  const std::string earlier_metrics = read("out/metrics.jsonl");
  const ProgramResult second = train({"--seed=2"});
  ASSERT_EQ(second.exit_code, 0) << second.err;
  EXPECT_NE(second.out.find("out/earlier-1"), std::string::npos) << second.out;
  EXPECT_EQ(model("out/earlier-1"), earlier);
  EXPECT_EQ(read("out/earlier-1/metrics.jsonl"), earlier_metrics);
  EXPECT_NE(model("out"), earlier);
  ASSERT_EQ(train({"--seed=3"}).exit_code, 0);
  EXPECT_TRUE(exists("out/earlier-2/latest/model.safetensors"));
}

}  // namespace
}  // namespace snug
