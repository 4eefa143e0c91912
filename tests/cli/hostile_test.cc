// A machine, a folder and names that mean harm: nothing is overwritten, nothing hangs, nothing that
// a terminal would obey reaches it, and the exit code says what happened.
#include <sys/stat.h>

#include "cli/testing.h"

namespace snug {
namespace {

class CliHostileTest : public CliTest {
 protected:
  // No control character but line ends and tabs.
  void expect_clean(const ProgramResult& result, const std::string& what) const {
    for (const std::string& text : {result.out, result.err}) {
      for (const char c : text) {
        const bool allowed = c == '\n' || c == '\t' || static_cast<unsigned char>(c) >= ' ';
        if (allowed && c != 0x7F) continue;
        ADD_FAILURE() << what << ": byte " << int{c} << " in\n" << text;
        return;
      }
    }
  }
};

constexpr const char* kEscapes = "a\033[8m\033]0;title\a\033[2J\r\x7f";

TEST_F(CliHostileTest, NoStringKeyReachesTheTerminalRaw) {
  for (const char* key : {"dataset", "out_dir", "init_from", "device", "dtype", "start", "card",
                          "memory_budget", "headroom", "color", "wandb_project", "unknown_key"}) {
    const std::string argument = std::string("--") + key + "=" + kEscapes;
    for (const char* command : {"train", "plan", "sample", "config", "doctor"}) {
      expect_clean(run(Words{command} + tiny({argument, "--max_iters=1"})), command + argument);
    }
  }
}

TEST_F(CliHostileTest, NoPathReachesTheTerminalRaw) {
  const std::string name = kEscapes;
  folder_.write(name + ".py", "nonsense here\n");
  expect_clean(run({"train", name + ".py"}), "a config");
  expect_clean(run({"train", name + "-missing.py"}), "a missing config");
  expect_clean(run({"doctor", "--log=" + name}), "a log");
  expect_clean(run({"prepare", "char", name, "data/" + name}), "a text");
  expect_clean(run({"verify", name}), "verify");
  expect_clean(run({name}), "a command");
  expect_clean(run({"help", name}), "help");
  folder_.write("data/" + name + "/train.bin", "xx");
  expect_clean(train({"--dataset=none"}), "a listed folder");
}

TEST_F(CliHostileTest, NoFieldOfAStateReachesTheTerminalRaw) {
  ASSERT_EQ(train().exit_code, 0);
  std::string state = read("out/latest/state.json");
  const std::size_t at = state.find("\"transformer.wte.weight\"");
  ASSERT_NE(at, std::string::npos);
  folder_.write("out/latest/state.json", state.replace(at + 1, 3, "\\u001b[2J"));
  expect_clean(train({"--init_from=resume"}), "a tensor");
  expect_clean(run({"verify", "out"}), "verify");
  expect_clean(run({"sample", "--num_samples=1"}), "sample");
}

TEST_F(CliHostileTest, MetricsAreNotWrittenThroughALink) {
  ASSERT_EQ(train().exit_code, 0);
  folder_.write("precious", "mine\n");
  std::filesystem::remove(path("out/metrics.jsonl"));
  std::filesystem::create_symlink("../precious", path("out/metrics.jsonl"));
  expect_error(train({"--init_from=resume", "--max_iters=20"}), 2, {"metrics.jsonl", "is a link"});
  EXPECT_EQ(read("precious"), "mine\n");
  ASSERT_EQ(train().exit_code, 0);  // from scratch the link moves aside as it is
  EXPECT_EQ(read("precious"), "mine\n");
}

TEST_F(CliHostileTest, EventFilesAreNotWrittenThroughALink) {
  ASSERT_EQ(train().exit_code, 0);
  std::filesystem::create_directory(path("elsewhere"));
  std::filesystem::remove_all(path("out/tensorboard"));
  std::filesystem::create_symlink("../elsewhere", path("out/tensorboard"));
  expect_error(train({"--init_from=resume", "--max_iters=20"}), 2, {"tensorboard", "is a link"});
  EXPECT_TRUE(std::filesystem::is_empty(path("elsewhere")));
}

TEST_F(CliHostileTest, APipeInThePlaceOfMetricsDoesNotHang) {
  ASSERT_EQ(train().exit_code, 0);
  std::filesystem::remove(path("out/metrics.jsonl"));
  ASSERT_EQ(::mkfifo(path("out/metrics.jsonl").c_str(), 0600), 0);
  expect_error(train({"--init_from=resume", "--max_iters=20"}), 2, {"metrics.jsonl", "not a file"});
}

TEST_F(CliHostileTest, TooLittleAddressSpaceIsSaidAndNotACrash) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer takes terabytes of address space";
  // With less the system's loader does not get as far as the program.
  for (const std::int64_t mebibytes : {60, 65, 70, 75, 80, 85}) {
    ProgramSettings limited = settings();
    limited.address_space = mebibytes << 20;
    const ProgramResult result = run_program(Words{"plan"} + tiny(), limited);
    EXPECT_EQ(result.signal, 0) << mebibytes;
    EXPECT_TRUE(result.exit_code == 3 || result.exit_code == 5) << mebibytes << result.err;
    expect_holds(result.err + result.out, {"ulimit -v"});
  }
}

TEST_F(CliHostileTest, VerifyFindsWhatWasChanged) {
  ASSERT_EQ(train().exit_code, 0);
  const ProgramResult whole = run({"verify", "out"});
  EXPECT_EQ(whole.exit_code, 0) << whole.out << whole.err;
  expect_holds(whole.out, {"out/step-000011", "whole"});
  std::string bytes = read("out/latest/optimizer.safetensors");
  bytes[bytes.size() - 5] = static_cast<char>(bytes[bytes.size() - 5] ^ 1);
  folder_.write("out/latest/optimizer.safetensors", bytes);
  const ProgramResult damaged = run({"verify", "out"});
  EXPECT_EQ(damaged.exit_code, 4);
  expect_holds(damaged.out, {"step-000011", "damaged", "optimizer.safetensors"});
  expect_error(run({"verify", "nowhere"}), 4, {"nothing to verify", "nowhere"});
}

TEST_F(CliHostileTest, SampleTakesOneCheckpoint) {
  ASSERT_EQ(train().exit_code, 0);
  const Words sample = {"sample", "--num_samples=1", "--max_new_tokens=10", "--temperature=0"};
  const std::string newest = run(sample).out;
  ASSERT_NE(newest, "");
  EXPECT_EQ(run(sample + Words{"--out_dir=out/latest"}).out, newest);
  EXPECT_EQ(run(sample + Words{"--out_dir=out/step-000011"}).out, newest);
  EXPECT_EQ(run(sample + Words{"--out_dir=out/latest/model.safetensors"}).out, newest);
  EXPECT_EQ(run(sample + Words{"--out_dir=out/best"}).exit_code, 0);
  for (const Words& named : {Words{"out"}, {"out", "latest"}, {"step-000011"}, {"out/step-000011"}})
    EXPECT_EQ(run(sample + named).out, newest);
  EXPECT_EQ(run(sample + Words{"out", "best"}).out, run(sample + Words{"--out_dir=out/best"}).out);
  expect_error(run(sample + Words{"out", "step-000099"}), 4,
               {"out/step-000099", "out holds step-", "step-000011: name one of them"});
  expect_error(run({"sample", "temperature"}), 2, {"write --temperature=VALUE"});
  expect_error(run(sample + Words{"ouut"}), 4, {"ouut holds no checkpoint", "--out_dir"});
  expect_error(train({"--out_dir=out/latest"}), 2, {"is one checkpoint"});
}

TEST_F(CliHostileTest, ADataSetMayBeAnAbsolutePath) {
  EXPECT_EQ(train({"--dataset=" + path("data/small"), "--max_iters=1"}).exit_code, 0);
}

TEST_F(CliHostileTest, TheEndOfARunTellsWhatToDoNext) {
  expect_holds(train().out, {"11 iterations in", "last loss", "best val loss",
                             "checkpoint out/step-000011", "snug sample --out_dir=out"});
  const ProgramResult unsaved = train({"--always_save_checkpoint=False", "--out_dir=best-only"});
  EXPECT_EQ(unsaved.exit_code, 0) << unsaved.err;
  EXPECT_FALSE(exists("best-only/step-000011"));
  expect_holds(unsaved.out, {"the last 3 iterations are not saved", "of iteration 8 is the best"});
}

TEST_F(CliHostileTest, MissingDataNameTheCommandThatMakesThem) {
  folder_.write("data/mine/input.txt", "text");
  expect_error(train({"--dataset=mine"}), 4,
               {"the text is there", "snug prepare char data/mine/input.txt data/mine"});
}

TEST_F(CliHostileTest, DoctorDoesNotOverwriteWhatItDidNotWrite) {
  folder_.write("big.py", "batch_size = 64\nblock_size = 1024\n");
  folder_.write("notes.txt", "mine\n");
  const Words doctor = {"doctor", "big.py", "--card=rtx3060"};
  expect_error(run(doctor + Words{"--write=notes.txt"}), 2, {"notes.txt", "did not write it"});
  EXPECT_EQ(read("notes.txt"), "mine\n");
  EXPECT_EQ(run(doctor + Words{"--write=fits.py"}).exit_code, 0);
  EXPECT_EQ(run(doctor + Words{"--write=fits.py"}).exit_code, 0);  // its own it may replace
}

TEST_F(CliHostileTest, QuietAndPlainAreHonoured) {
  EXPECT_EQ(train({"--quiet"}).out, "");
  expect_error(train({"--progress=loud"}), 2, {"progress", "bar, plain or none"});
  for (const char* how : {"--progress=plain", "--progress=none", "--progress=bar"}) {
    const ProgramResult result = train({how});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.out.find('\r'), std::string::npos);
  }
  EXPECT_EQ(run({"help", "train"}).out, run({"train", "--help"}).out);
  EXPECT_EQ(run({"-V"}).out, run({"--version"}).out);
  for (const char* shell : {"bash", "zsh", "fish"}) {
    expect_holds(run({"completion", shell}).out, {"verify", "n_layer"});
  }
}

}  // namespace
}  // namespace snug
