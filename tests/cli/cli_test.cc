// The program's front: help, usage, `prepare`, `plan`, `config`, and the order of arguments.
#include <cstdint>
#include <cstdio>

#include "cli/testing.h"

namespace snug {
namespace {

using Json = nlohmann::json;

TEST_F(CliTest, HelpOfEveryCommandNamesItAndSucceeds) {
  for (const char* command : {"train", "plan", "sample", "prepare", "config", "completion"}) {
    for (const char* flag : {"--help", "-h"}) {
      const ProgramResult help = run({command, flag});
      EXPECT_EQ(help.exit_code, 0) << command;
      EXPECT_NE(help.out.find(std::string("snug ") + command), std::string::npos) << help.out;
      EXPECT_EQ(help.err, "");
    }
    EXPECT_NE(run({"--help"}).out.find(command), std::string::npos) << command;
  }
  EXPECT_EQ(run({"train", "--n_layer=2", "--help"}).exit_code, 0);
}

TEST_F(CliTest, HelpFitsTheTerminalAndListsEveryKeyOfNanoGpt) {
  const ProgramResult help = run({"train", "--help"});
  EXPECT_EQ(lines_like(help.out, ".{101,}"), Words{});
  for (const char* key :
       {"out_dir", "eval_interval", "always_save_checkpoint", "weight_decay", "grad_clip",
        "wandb_log", "gradient_accumulation_steps", "memory_budget"}) {
    EXPECT_NE(help.out.find(key), std::string::npos) << key;
  }
}

TEST_F(CliTest, WrongUsageIsExitCode2) {
  const ProgramResult nothing = run({});
  EXPECT_EQ(nothing.exit_code, 2);
  EXPECT_NE(nothing.err.find("snug COMMAND"), std::string::npos);
  expect_error(run({"trian"}), 2, {"trian", "did you mean", "train", "snug --help"});
  expect_error(run({"frobnicate"}), 2, {"frobnicate", "snug --help"});
  expect_error(run({"config/train_gpt2.py"}), 2, {"the command comes first"});
  expect_error(run({"--n_layer=2", "train"}), 2, {"--n_layer=2", "the command comes first"});
  expect_error(run({"completion", "train"}), 2, {"snug completion bash"});  // not `snug train`
  expect_error(run({"verify", "plan"}), 4, {"nothing to verify: plan"});
  expect_error(run({"prepare"}), 2, {"snug prepare char"});
  expect_error(run({"prepare", "char", "small.txt"}), 2, {"two names"});
  expect_error(run({"prepare", "tales", "data/t", "--seed=x"}), 2, {"--seed=x", "whole number"});
  expect_error(run({"completion", "csh"}), 2, {"snug completion bash"});
}

// What a shell prints; nothing where it is not installed.
std::string output_of(const std::string& command) {
  std::string text;
  std::FILE* pipe = ::popen((command + " 2>/dev/null").c_str(), "r");
  for (char c = 0; std::fread(&c, 1, 1, pipe) == 1;) text += c;
  ::pclose(pipe);
  return text;
}

TEST_F(CliTest, BashCompletesCommandsOptionsAndValues) {
  folder_.write("snug.bash", run({"completion", "bash"}).out);
  const auto completed = [&](const std::string& words) {
    return output_of("bash -c 'source " + path("snug.bash") + "; COMP_WORDS=(" + words +
                     "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _snug; echo \"${COMPREPLY[*]}\"'");
  };
  EXPECT_EQ(completed("snug ve"), "verify\n");
  EXPECT_EQ(completed("snug train --dt"), "--dtype=\n");
  EXPECT_EQ(completed("snug train --dtype = bf"), "bfloat16\n");
  EXPECT_EQ(completed("snug train --decay_lr ="), "True False\n");
  EXPECT_EQ(completed("snug plan --card = rtx3060-8"), "rtx3060-8gb\n");
  EXPECT_EQ(completed("snug plan --htm"), "--html=\n");
  EXPECT_EQ(completed("snug verify --n_la"), "\n");  // takes no keys
  EXPECT_EQ(completed("snug prepare ta"), "tales\n");
  EXPECT_EQ(completed("snug completion f"), "fish\n");
  EXPECT_EQ(completed("snug help pla"), "plan\n");
  EXPECT_EQ(completed("snug train " + path("sma")), path("small.txt") + "\n");
}

TEST_F(CliTest, ZshAndFishReadTheirScripts) {
  for (const char* shell : {"zsh", "fish"}) {
    const std::string script = run({"completion", shell}).out;
    expect_holds(script, {"verify", "learning_rate", "bfloat16", "rtx3060", "progress"});
    folder_.write(shell, script);
    const std::string check = std::string(shell) + " -n " + path(shell);
    if (output_of("command -v " + std::string(shell)).empty()) continue;
    EXPECT_EQ(output_of(check + " && echo fine"), "fine\n") << shell;
  }
}

TEST_F(CliTest, PrepareWritesWhatNanoGptReads) {
  const std::string text = small_text();
  const auto train_count = static_cast<std::size_t>(static_cast<double>(text.size()) * 0.9);
  EXPECT_EQ(read("data/small/train.bin").size(), 2 * train_count);
  EXPECT_EQ(read("data/small/val.bin").size(), 2 * (text.size() - train_count));
  EXPECT_TRUE(exists("data/small/meta.pkl"));
  const ProgramResult again = run({"prepare", "char", "small.txt", "data/small"});
  EXPECT_EQ(lines_like(again.out, "length of dataset in characters: [0-9,]+").size(), 1u);
  EXPECT_EQ(lines_like(again.out, "train has [0-9,]+ tokens").size(), 1u);
}

TEST_F(CliTest, PrepareTalesIsTheSameForTheSameSeed) {
  for (const char* name : {"a", "b"}) {
    const ProgramResult made = run({"prepare", "tales", name, "--seed=3", "--bytes=20000"});
    EXPECT_EQ(made.exit_code, 0) << made.err;
    EXPECT_NE(made.out.find("entropy of the grammar"), std::string::npos);
  }
  EXPECT_EQ(read("a/train.bin"), read("b/train.bin"));
  run({"prepare", "tales", "c", "--seed=4", "--bytes=20000"});
  EXPECT_NE(read("a/train.bin"), read("c/train.bin"));
}

TEST_F(CliTest, LaterOptionOfPrepareWins) {
  run({"prepare", "tales", "a", "--seed=4", "--bytes=20000"});
  run({"prepare", "tales", "b", "--seed=3", "--bytes=10000", "--seed=4", "--bytes=20000"});
  EXPECT_FALSE(read("a/train.bin").empty());
  EXPECT_EQ(read("a/train.bin"), read("b/train.bin"));
}

TEST_F(CliTest, ASlipIsToldThoughALaterOptionWins) {
  expect_error(run({"prepare", "tales", "c", "--seed=x", "--seed=4"}), 2, {"--seed=x"});
  expect_error(run({"prepare", "tales", "c", "--seed=", "--seed=3"}), 2, {"--seed= is without"});
  expect_error(run({"prepare", "tales", "c", "--seed=3", "--seed="}), 2, {"--seed= is without"});
  expect_error(run({"prepare", "bpe", "small.txt", "d", "--eot=maybe", "--eot=none"}), 2,
               {"--eot=maybe is none of"});
  expect_error(run({"prepare", "bpe", "small.txt", "d", "--val=2", "--val=10%"}), 2,
               {"--val=2 is not a share"});
  EXPECT_FALSE(exists("c"));
  EXPECT_FALSE(exists("d"));
}

TEST_F(CliTest, PlanShowsVerdictAndParts) {
  const ProgramResult plan = run(Words{"plan"} + tiny());
  EXPECT_EQ(plan.exit_code, 0) << plan.err;
  expect_holds(plan.out, {"Fits.", "weights", "gradients", "optimizer state", "activations",
                          "total", "peak at", "largest", "data/small/meta.pkl"});
  EXPECT_FALSE(exists("out"));
}

TEST_F(CliTest, PlanAsJsonAddsUp) {
  const ProgramResult plan =
      run(Words{"plan"} + tiny({"--json", "--memory_budget=200MiB", "--grad_checkpoint=True"}));
  ASSERT_EQ(plan.exit_code, 0) << plan.err;
  const Json json = parsed_json(plan.out);
  const auto bytes = [&](const char* key) { return json.at(key).get<std::int64_t>(); };
  EXPECT_EQ(bytes("total_bytes"), bytes("arena_bytes") + bytes("overhead_bytes"));
  EXPECT_EQ(bytes("budget_bytes"), std::int64_t{200} << 20);
  EXPECT_TRUE(json.at("fits").get<bool>());
  std::int64_t roles = 0, largest_phase = 0;
  for (const auto& [name, value] : json.at("roles").items()) roles += value.get<std::int64_t>();
  EXPECT_EQ(roles, bytes("arena_bytes"));
  for (const char* phase : {"train", "update", "evaluate", "sample"}) {
    EXPECT_GT(json.at("phases").at(phase).get<std::int64_t>(), 0) << phase;
  }
  for (const auto& [name, value] : json.at("phases").items()) {
    largest_phase = std::max(largest_phase, value.get<std::int64_t>());
  }
  EXPECT_EQ(largest_phase, bytes("arena_bytes"));
  ASSERT_FALSE(json.at("largest").empty());
  EXPECT_GT(json.at("largest")[0].at("bytes").get<std::int64_t>(), 0);
}

TEST_F(CliTest, PlanThatDoesNotFitIsExitCode3) {
  const ProgramResult text = run(Words{"plan"} + tiny({"--memory_budget=10MiB"}));
  EXPECT_EQ(text.exit_code, 3);
  EXPECT_NE(text.out.find("Does not fit."), std::string::npos);
  const ProgramResult json = run(Words{"plan"} + tiny({"--memory_budget=10MiB", "--json"}));
  EXPECT_EQ(json.exit_code, 3);
  EXPECT_FALSE(parsed_json(json.out).at("fits").get<bool>());
}

TEST_F(CliTest, PlanNeedsNoDeviceAndNoData) {
  for (const char* extra : {"--device=cuda", "--dataset=openwebtext"}) {
    const ProgramResult plan = run(Words{"plan"} + tiny({extra, "--json"}));
    EXPECT_EQ(plan.exit_code, 0) << plan.err;
    EXPECT_GT(parsed_json(plan.out).at("total_bytes").get<std::int64_t>(), 0);
  }
}

TEST_F(CliTest, LaterArgumentsWinFilesIncluded) {
  folder_.write("mine.py", "n_layer = 3\nn_embd = 4 * 8  # wide\n");
  const auto value = [&](const Words& arguments) {
    const ProgramResult shown = run(Words{"config", "--json"} + arguments);
    EXPECT_EQ(shown.exit_code, 0) << shown.err;
    return parsed_json(shown.out).at("n_layer").get<int>();
  };
  EXPECT_EQ(value({"mine.py", "--n_head=2"}), 3);
  EXPECT_EQ(value({"--n_layer=5", "mine.py", "--n_head=2"}), 3);
  EXPECT_EQ(value({"mine.py", "--n_layer=5", "--n_head=2"}), 5);
  EXPECT_EQ(value({"--n_layer=5", "--n_layer=6", "--n_head=2"}), 6);
}

// A full disk behind the redirection is an error, even though the text is short enough to wait in
// a buffer until the end.
TEST_F(CliTest, OutputThatCannotBeWrittenIsExitCode5) {
  ProgramSettings full = settings();
  full.stdout_path = "/dev/full";
  for (const Words& command : {Words{"plan"} + tiny({"--json"}), Words{"config"} + tiny(),
                               Words{"train"} + tiny(), Words{"--help"}}) {
    const ProgramResult result = run_program(command, full);
    EXPECT_EQ(result.exit_code, 5) << command[0];
    EXPECT_NE(result.err.find("output"), std::string::npos) << result.err;
  }
  EXPECT_TRUE(exists("out/latest/model.safetensors"));  // training does not depend on its log
}

TEST_F(CliTest, MessageThatCannotBeWrittenKeepsTheExitCode) {
  ProgramSettings full = settings();
  full.stderr_path = "/dev/full";
  for (const Words& command :
       {Words{"trian"}, Words{}, Words{"train"} + tiny({"--bias=perhaps"})}) {
    const ProgramResult result = run_program(command, full);
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_EQ(result.signal, 0);
  }
}

}  // namespace
}  // namespace snug
