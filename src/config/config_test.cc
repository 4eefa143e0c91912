#include "config/config.h"

#include <gtest/gtest.h>

#include "config/config_for_test.h"

namespace snug::config {
namespace {

TEST(Load, LaterWinsAlsoAFileAfterAnArgument) {
  const TestFile file("batch_size = 8");
  EXPECT_EQ(load(Command::kTrain, {file.path(), "--batch_size=16"}).values.batch_size, 16);
  const LoadedConfig config = load(Command::kTrain, {"--batch_size=16", file.path()});
  EXPECT_EQ(config.values.batch_size, 8);
  EXPECT_EQ(config.origins.at("batch_size").kind, Origin::Kind::kFile);
  EXPECT_FALSE(config.is_set("block_size"));
}

TEST(Load, DefaultsAreThoseOfTheCommand) {
  EXPECT_EQ(load(Command::kTrain, {}).values.init_from, "scratch");
  EXPECT_EQ(load(Command::kPlan, {}).values.init_from, "scratch");
  EXPECT_EQ(load(Command::kSample, {}).values.init_from, "resume");
}

TEST(Arguments, TakeWhatNanoGptDiesOf) {
  const LoadedConfig config =
      load(Command::kTrain, {"--learning_rate=1", "--dropout=0", "--compile=0", "--max_iters=1e4",
                             "--start=FILE:a=b.txt", "--wandb_run_name=12", "--out_dir='my out'"});
  EXPECT_EQ(config.values.learning_rate, 1.0);
  EXPECT_EQ(config.values.max_iters, 10000);
  EXPECT_FALSE(config.values.compile);
  EXPECT_EQ(config.values.start, "FILE:a=b.txt");
  EXPECT_EQ(config.values.wandb_run_name, "12");
  EXPECT_EQ(config.values.out_dir, "my out");
}

TEST(Arguments, WrongFormsShowTheRightOne) {
  EXPECT_EQ(argument_error({"--batch_size", "32"}),
            "command line: batch_size has no value\n"
            "    --batch_size\n"
            "    ^^^^^^^^^^^^\n"
            "write it as one word: --batch_size=32");
  EXPECT_TRUE(has(argument_error({"batch_size=32"}), "write --batch_size=32"));
  EXPECT_TRUE(has(argument_error({"-batch_size=32"}), "write --batch_size=32"));
  EXPECT_TRUE(has(argument_error({"--eval_only", "True"}), "--eval_only=True"));
  EXPECT_TRUE(has(argument_error({"batch_size"}), "write --batch_size=VALUE"));
  EXPECT_TRUE(has(argument_error({"--"}), "no setting is named"));
  EXPECT_TRUE(has(argument_error({"--=3"}), "no setting is named"));
  EXPECT_TRUE(has(argument_error({""}), "an argument is empty"));
  EXPECT_TRUE(has(argument_error({"--out_dir=\xFF"}), "is not UTF-8"));
  EXPECT_TRUE(has(argument_error({"--max_iters=abc"}), "max_iters = 'abc' is not a whole number"));
  EXPECT_TRUE(has(argument_error({"--max_iters=99999999999999999999"}), "does not fit 64 bits"));
  EXPECT_TRUE(has(argument_error({"--batch_size="}), "is not a whole number"));
}

TEST(Arguments, ASwitchAloneIsTrue) {
  EXPECT_TRUE(load(Command::kTrain, {"--eval_only"}).values.eval_only);
  EXPECT_TRUE(load(Command::kTrain, {"--fit", "--batch_size=3"}).values.fit);
  EXPECT_EQ(load(Command::kTrain, {"--fit", "--batch_size=3"}).values.batch_size, 3);
  EXPECT_FALSE(load(Command::kTrain, {"--fit", "--fit=False"}).values.fit);
}

TEST(Arguments, EffectiveBatchSetsTheAccumulation) {
  const Config config = load(Command::kTrain, {"--effective_batch=96", "--batch_size=12"}).values;
  EXPECT_EQ(config.gradient_accumulation_steps, 8);
  const LoadedConfig told = load(Command::kTrain, {"--effective_batch=12", "--batch_size=4",
                                                   "--gradient_accumulation_steps=5"});
  EXPECT_EQ(told.values.gradient_accumulation_steps, 3);
  ASSERT_EQ(told.notices.size(), 1u);
  EXPECT_TRUE(has(told.notices[0], "gradient_accumulation_steps = 5 is not used"));
  const std::string error = argument_error({"--effective_batch=100", "--batch_size=12"});
  EXPECT_TRUE(has(error,
                  "effective_batch = 100 cannot be split into micro-batches of "
                  "batch_size = 12"))
      << error;
  EXPECT_TRUE(has(error, "batch_size = 10 divides it; effective_batch = 108")) << error;
  EXPECT_TRUE(has(argument_error({"--headroom=lots"}), "10%"));
  EXPECT_TRUE(has(argument_error({"--headroom=100%"}), "between 0% and 100%"));
  EXPECT_TRUE(has(argument_error({"--headroom=10"}), "a share such as 10%"));
  EXPECT_TRUE(has(argument_error({"--optimizer_dtype=int8"}), "float32, bfloat16"));
}

TEST(Changes, AreTheFewestThatLeadThere) {
  const auto keys = [](const LoadedConfig& from, const Config& to) {
    std::string text;
    for (const Change& change : changes_to(from, to)) {
      text += change.key + " " + change.before + ">" + change.after + " ";
    }
    return text;
  };
  const LoadedConfig config = load(Command::kTrain, {"--batch_size=12"});
  Config next = config.values;
  EXPECT_EQ(keys(config, next), "");
  next.batch_size = next.eval_batch_size = 6;  // evaluation follows by itself
  next.gradient_accumulation_steps = 80;
  EXPECT_EQ(keys(config, next), "batch_size 12>6 gradient_accumulation_steps 40>80 ");
  next = config.values;
  next.grad_checkpoint = true;
  next.checkpoint_blocks = 12;
  EXPECT_EQ(keys(config, next), "grad_checkpoint False>True ");
  const LoadedConfig all = load(Command::kTrain, {"--grad_checkpoint=True"});
  next = all.values;
  next.grad_checkpoint = false;
  next.checkpoint_blocks = 5;
  EXPECT_EQ(keys(all, next), "grad_checkpoint True>False checkpoint_blocks 12>5 ");
  const LoadedConfig whole = load(Command::kTrain, {"--effective_batch=96", "--batch_size=12"});
  next = whole.values;
  next.batch_size = next.eval_batch_size = 8;
  next.gradient_accumulation_steps = 12;
  EXPECT_EQ(keys(whole, next), "batch_size 12>8 ");
}

TEST(Arguments, UnknownKeySuggestsTheNearest) {
  EXPECT_EQ(argument_error({"--batchsize=4"}),
            "command line: there is no setting `batchsize`\n"
            "    --batchsize=4\n"
            "      ^^^^^^^^^\n"
            "did you mean --batch_size=4?");
  EXPECT_TRUE(has(argument_error({"--gradient_accumulation=4"}),
                  "did you mean --gradient_accumulation_steps=4?"));
  EXPECT_TRUE(has(argument_error({"--learning-rate=1"}), "did you mean --learning_rate=1?"));
  EXPECT_TRUE(has(argument_error({"--zebra=4"}), "--help lists all settings"));
}

TEST(Files, SayWhatIsWrongWithAPath) {
  const std::string missing = argument_error({"config/no_such_thing.py"});
  EXPECT_TRUE(has(missing, "there is no such config file"));
  EXPECT_TRUE(has(missing, "from the folder " + std::filesystem::current_path().string()));
  EXPECT_TRUE(has(argument_error({::testing::TempDir()}), "is a folder"));
  const TestFile binary(std::string("batch_size = 3\0", 15)), latin("# caf\xE9\n");
  EXPECT_TRUE(has(argument_error({binary.path()}), "is not text"));
  EXPECT_TRUE(has(argument_error({latin.path()}), "is not text"));
  const TestFile named("batch_size = 3");
  const std::string stem = named.path().substr(0, named.path().size() - 3);
  EXPECT_TRUE(has(argument_error({stem}), "did you mean " + named.path() + "?"));
  const TestFile longest(std::string(1 << 20, '\n')), longer(std::string((1 << 20) + 1, '\n'));
  EXPECT_EQ(argument_error({longest.path()}), "");
  EXPECT_TRUE(has(argument_error({longer.path()}), "too long for a config"));
}

TEST(Notices, IgnoredKeysAreNamedInOneLine) {
  const LoadedConfig config =
      load_text("wandb_log = True\nwandb_project = 'x'", {"--compile=False", "--backend=gloo"});
  ASSERT_EQ(config.notices.size(), 1U);
  EXPECT_EQ(config.notices[0], "ignored here: wandb_log, wandb_project, backend, compile");
}

TEST(Notices, KeysOfOtherCommandsAreSilent) {
  EXPECT_TRUE(load(Command::kTrain, {"--temperature=0.5"}).notices.empty());
  EXPECT_TRUE(load(Command::kSample, {"--learning_rate=0.5"}).notices.empty());
}

// Configs of the shapes that nanoGPT ships.
constexpr const char* kSmall =
    "# a small character-level model\n"
    "out_dir = 'out-char'\neval_interval = 250 # often\neval_iters = 200\nlog_interval = 10\n"
    "always_save_checkpoint = False\nwandb_log = False # on the command line\n"
    "wandb_project = 'char'\nwandb_run_name = 'mini'\ndataset = 'shakespeare_char'\n"
    "gradient_accumulation_steps = 1\nbatch_size = 64\nblock_size = 256 # context\n"
    "n_layer = 6\nn_head = 6\nn_embd = 384\ndropout = 0.2\nlearning_rate = 1e-3\n"
    "max_iters = 5000\nlr_decay_iters = 5000\nmin_lr = 1e-4\nbeta2 = 0.99\nwarmup_iters = 100\n"
    "# device = 'cpu'\n# compile = False\n";
constexpr const char* kLarge =
    "wandb_log = True\nwandb_project = 'owt'\nwandb_run_name='gpt2-124M'\n\n"
    "# 12 * 1024 * 5 * 8\nbatch_size = 12\nblock_size = 1024\n"
    "gradient_accumulation_steps = 5 * 8\nmax_iters = 600000\nlr_decay_iters = 600000\n"
    "eval_interval = 1000\neval_iters = 200\nlog_interval = 10\nweight_decay = 1e-1\n";
constexpr const char* kFinetune =
    "import time\n\nout_dir = 'out-ft'\neval_interval = 5\neval_iters = 40\nwandb_log = False\n"
    "wandb_project = 'ft'\nwandb_run_name = 'ft-' + str(time.time())\n\ndataset = 'shakespeare'\n"
    "init_from = 'gpt2-xl' # the largest\nalways_save_checkpoint = False\nbatch_size = 1\n"
    "gradient_accumulation_steps = 32\nmax_iters = 20\nlearning_rate = 3e-5\ndecay_lr = False\n";

TEST(NanoGptShapes, TrainingConfigsLoad) {
  for (const Command command : {Command::kTrain, Command::kPlan, Command::kSample}) {
    const LoadedConfig small = load_text(kSmall, {}, command);
    EXPECT_EQ(small.values.n_embd, 384);
    EXPECT_EQ(small.values.eval_batch_size, 64);
    EXPECT_EQ(small.values.beta2, 0.99);
    EXPECT_EQ(load_text(kLarge, {}, command).values.gradient_accumulation_steps, 40);
  }
}

TEST(NanoGptShapes, FormatStringsTakeNames) {
  const char* text =
      "batch_size = 4\nlearning_rate = 1e-3\n"
      "out_dir = f'out-{batch_size}' f\"-{learning_rate}-{{x}}\" '-{y}'\n";
  EXPECT_EQ(load_text(text, {}, Command::kTrain).values.out_dir, "out-4-0.001-{x}-{y}");
}

TEST(NanoGptShapes, FinetuneIsPlannedAndTrained) {
  for (const Command command : {Command::kPlan, Command::kTrain}) {
    const Config values = load_text(kFinetune, {}, command).values;
    EXPECT_EQ(values.n_layer, 48);
    EXPECT_EQ(values.gelu, "tanh");
    EXPECT_TRUE(values.bias);
    EXPECT_EQ(values.wandb_run_name.find("ft-1"), 0U);
  }
  EXPECT_EQ(load_text("init_from = './mine'\n", {}, Command::kTrain).values.init_from, "./mine");
  EXPECT_TRUE(has(text_error("init_from = 'gpt3'\n"), "or the path of a model"));
}

TEST(NanoGptShapes, EvalConfigsPlanTheFourSizes) {
  struct Size {
    const char* name;
    std::int64_t n_layer, n_head, n_embd;
  };
  for (const Size& size : {Size{"gpt2", 12, 12, 768}, Size{"gpt2-medium", 24, 16, 1024},
                           Size{"gpt2-large", 36, 20, 1280}, Size{"gpt2-xl", 48, 25, 1600}}) {
    const std::string text = std::string("batch_size = 8\neval_iters = 500 # good estimate\n") +
                             "eval_only = True\nwandb_log = False\ninit_from = '" + size.name + "'";
    const Config values = load_text(text, {}, Command::kPlan).values;
    EXPECT_EQ(values.n_layer, size.n_layer);
    EXPECT_EQ(values.n_head, size.n_head);
    EXPECT_EQ(values.n_embd, size.n_embd);
    EXPECT_EQ(values.block_size, 1024);
    EXPECT_EQ(values.vocab_size, 50257);
    EXPECT_TRUE(values.bias);
  }
}

TEST(Pretrained, DecidesTheModelButCropsTheContext) {
  const LoadedConfig config =
      load(Command::kPlan, {"--init_from=gpt2", "--n_layer=3", "--block_size=256"});
  EXPECT_EQ(config.values.n_layer, 12);
  EXPECT_EQ(config.values.block_size, 256);
  ASSERT_EQ(config.notices.size(), 1U);
  EXPECT_EQ(config.notices[0], "init_from = 'gpt2' decides the model: n_layer without effect");
  EXPECT_TRUE(has(argument_error({"--init_from=gpt2", "--block_size=2048"}, Command::kPlan),
                  "longer than the 1024 positions"));
  EXPECT_TRUE(has(argument_error({"--init_from=gpt3"}, Command::kPlan), "it can be scratch"));
}

}  // namespace
}  // namespace snug::config
