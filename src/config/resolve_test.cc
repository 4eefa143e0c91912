#include <gtest/gtest.h>

#include "config/config_for_test.h"

namespace snug::config {
namespace {

TEST(Relations, HeadsMustDivideTheWidth) {
  EXPECT_EQ(text_error("# mine\nn_embd  = 512     # safer\n"),
            "mine.py:2: n_embd = 512 is not divisible by n_head = 12\n"
            "    n_embd  = 512     # safer\n"
            "              ^^^\n"
            "each head needs a whole width: n_head = 8 keeps 512 wide (64 per head), "
            "n_embd = 480 keeps 12 heads");
  EXPECT_EQ(argument_error({"--n_head=7"}),
            "command line: n_embd = 768 is not divisible by n_head = 7\n"
            "    --n_head=7\n"
            "             ^\n"
            "each head needs a whole width: n_head = 6 keeps 768 wide (128 per head), "
            "n_embd = 784 keeps 7 heads");
  EXPECT_TRUE(has(argument_error({"--n_head=12", "--n_embd=5"}), "n_embd = 12 keeps 12 heads"));
}

// Every row: an argument, and a part of its error.
TEST(Ranges, AreChecked) {
  const std::pair<const char*, const char*> rows[] = {
      {"--block_size=0", "block_size takes 1 to 131,072"},
      {"--n_layer=0", "n_layer takes 1 to 512"},
      {"--batch_size=-1", "batch_size = -1 is not allowed"},
      {"--gradient_accumulation_steps=0", "takes 1 to 65,536"},
      {"--dropout=1", "dropout takes 0 to below 1"},
      {"--dropout=-0.1", "dropout = -0.1 is not allowed"},
      {"--learning_rate=0", "learning_rate takes above 0"},
      {"--beta2=1", "beta2 takes 0 to below 1"},
      {"--grad_clip=-1", "grad_clip takes 0 or more"},
      {"--seed=-1", "seed takes 0 or more"},
      {"--eval_iters=0", "eval_iters takes 1 to"},
      {"--eval_interval=0", "eval_interval takes 1 to"},
      {"--log_interval=0", "log_interval takes 1 to"},
      {"--max_iters=1e15", "max_iters takes 0 to 1e9"},
      {"--temperature=-1", "temperature takes 0 or more"},
      {"--top_k=0", "top_k takes 1 to"},
      {"--dtype=fp16", "it can be auto, float32, tf32, bfloat16, float16"},
      {"--device=mps", "'cpu' works on a Mac"},
      {"--device=cuda:x", "cuda:0"},
      {"--color=red", "it can be auto, always, never"},
      {"--init_from=nothing", "it can be scratch, resume"},
      {"--memory_budget=12XB", "write a size such as 12GiB"},
      {"--memory_budget=0", "write a size such as 12GiB"},
      {"--memory_budget=101%", "up to 100%"},
      {"--memory_budget=%", "up to 100%"},
      {"--dataset=", "it must not be empty"},
      {"--out_dir=''", "it must not be empty"},
  };
  for (const auto& [argument, wanted] : rows) {
    EXPECT_TRUE(has(argument_error({argument}), wanted)) << argument << "\n"
                                                         << argument_error({argument});
  }
  for (const char* argument :
       {"--memory_budget=12GiB", "--memory_budget=80%", "--memory_budget=auto",
        "--memory_budget=4096", "--device=cuda:1", "--device=cpu", "--max_iters=0",
        "--seed=9223372036854775807", "--dtype=float16"}) {
    EXPECT_EQ(argument_error({argument}), "") << argument;
  }
}

TEST(Ranges, OnlyTheLastSettingCounts) {
  EXPECT_EQ(load_text("batch_size = 0", {"--batch_size=4"}).values.batch_size, 4);
}

TEST(Resolve, FillsDerivedValues) {
  const LoadedConfig config = load(Command::kTrain, {"--batch_size=5", "--block_size=64"});
  EXPECT_EQ(config.values.eval_batch_size, 5);
  EXPECT_EQ(config.values.eval_block_size, 64);
  EXPECT_EQ(config.values.dtype, "float32");
  EXPECT_EQ(config.values.checkpoint_blocks, 0);
  EXPECT_EQ(load(Command::kPlan, {"--device=cuda"}).values.dtype, "bfloat16");
  EXPECT_EQ(load(Command::kPlan, {"--device=cpu", "--dtype=float16"}).values.dtype, "float16");
  EXPECT_EQ(load(Command::kTrain, {"--grad_checkpoint=True"}).values.checkpoint_blocks, 12);
}

TEST(Resolve, IsIdempotentAndFollowsACheckpoint) {
  LoadedConfig config = load(Command::kTrain, {"--grad_checkpoint=True", "--max_iters=10"});
  const std::string once = config_to_json(config.values);
  const std::size_t notices = config.notices.size();
  resolve(config);
  EXPECT_EQ(config_to_json(config.values), once);
  EXPECT_EQ(config.notices.size(), notices);
  config.values.n_layer = 3;
  config.values.block_size = 32;
  config.values.eval_batch_size = 2;
  resolve(config);
  EXPECT_EQ(config.values.checkpoint_blocks, 3);
  EXPECT_EQ(config.values.eval_block_size, 32);
  EXPECT_EQ(config.values.eval_batch_size, 2);
  config.values.grad_checkpoint = false;
  resolve(config);
  EXPECT_EQ(config.values.checkpoint_blocks, 0);
}

TEST(Resolve, BlamesTheCheckpoint) {
  LoadedConfig config = load(Command::kTrain, {});
  config.values.n_embd = 100;
  config.origins["n_embd"].kind = Origin::Kind::kCheckpoint;
  EXPECT_EQ(error_of([&] {
              resolve(config);
            }).find("checkpoint: n_embd = 100 is not divisible by n_head = 12\neach head"),
            0U);
}

TEST(Relations, CheckpointingIsSaidOnce) {
  EXPECT_TRUE(has(argument_error({"--grad_checkpoint=True", "--checkpoint_blocks=3"}),
                  "checkpoint_blocks = 3 contradicts grad_checkpoint = True"));
  EXPECT_TRUE(
      has(argument_error({"--grad_checkpoint=True", "--checkpoint_blocks=0"}), "contradicts"));
  EXPECT_EQ(argument_error({"--grad_checkpoint=True", "--checkpoint_blocks=12"}), "");
  EXPECT_EQ(argument_error({"--checkpoint_blocks=12"}), "");
  EXPECT_TRUE(has(argument_error({"--checkpoint_blocks=13"}), "is more than n_layer = 12"));
}

TEST(Relations, SizesFitTogether) {
  EXPECT_TRUE(has(argument_error({"--eval_block_size=2048"}),
                  "eval_block_size = 2048 is longer than block_size = 1024"));
  EXPECT_TRUE(has(argument_error({"--batch_size=16384", "--block_size=131072"}), "tokens at once"));
  EXPECT_TRUE(
      has(argument_error({"--eval_batch_size=16384", "--block_size=131072", "--batch_size=1"}),
          "an evaluation batch"));
  EXPECT_TRUE(has(argument_error({"--batch_size=512", "--block_size=131072", "--max_iters=1e9",
                                  "--gradient_accumulation_steps=65536"}),
                  "more tokens than 64 bits count"));
}

TEST(Relations, TheScheduleMustBeComputable) {
  EXPECT_TRUE(has(argument_error({"--warmup_iters=100", "--lr_decay_iters=100"}),
                  "lr_decay_iters = 100 leaves no decay after warmup_iters = 100"));
  EXPECT_EQ(argument_error({"--warmup_iters=100", "--lr_decay_iters=100", "--decay_lr=False"}), "");
  const auto notices = [](std::vector<std::string> arguments) {
    const LoadedConfig config = load(Command::kTrain, arguments);
    return config.notices.empty() ? "" : config.notices.front();
  };
  EXPECT_TRUE(has(notices({"--warmup_iters=100", "--lr_decay_iters=100", "--max_iters=50"}),
                  "max_iters = 50 ends within warmup_iters = 100"));
  EXPECT_TRUE(has(notices({"--warmup_iters=100", "--lr_decay_iters=10"}),
                  "falls to min_lr right after the warmup"));
  EXPECT_TRUE(has(notices({"--min_lr=1"}), "min_lr = 1 is above learning_rate"));
  EXPECT_EQ(notices({"--min_lr=1", "--decay_lr=False"}), "");
}

TEST(Sampling, ReadsTheCheckpointWhateverTheTrainingConfigSays) {
  const LoadedConfig config = load_text("init_from = 'scratch'", {}, Command::kSample);
  EXPECT_EQ(config.values.init_from, "resume");
  EXPECT_EQ(config.notices.size(), 1U);
}

}  // namespace
}  // namespace snug::config
