// Bad data, bad settings, bad folders: each has its exit code and a message that names the file or
// key and says what to do.
#include "cli/testing.h"

namespace snug {
namespace {

std::string tokens(std::initializer_list<std::uint16_t> ids, std::size_t repeat) {
  std::vector<std::uint16_t> all;
  for (std::size_t i = 0; i < repeat; ++i) all.insert(all.end(), ids);
  return little_endian_bytes(all);
}

TEST_F(CliTest, MissingDatasetNamesTheFileAndTheWayOut) {
  expect_error(train({"--dataset=none"}), 4, {"data/none", "train.bin", "small", "snug prepare"});
  std::filesystem::remove(path("data/small/val.bin"));
  expect_error(train(), 4, {"data/small/val.bin", "snug prepare"});
  EXPECT_FALSE(exists("out"));
}

TEST_F(CliTest, ShortFileNamesTheBlockSize) {
  folder_.write("data/small/val.bin", tokens({1, 2}, 8));
  expect_error(train(), 4, {"data/small/val.bin", "block_size", "16", "prepare"});
}

TEST_F(CliTest, OddOrEmptyFileIsNotTokens) {
  folder_.write("data/small/train.bin", tokens({1, 2}, 100) + "x");
  expect_error(train(), 4, {"data/small/train.bin", "401"});
  folder_.write("data/small/train.bin", "");
  expect_error(train(), 4, {"data/small/train.bin"});
}

TEST_F(CliTest, TokenOutsideTheVocabularyIsFoundBeforeTraining) {
  folder_.write("data/small/train.bin", tokens({1, 2, 3}, 1000) + tokens({999}, 1));
  const ProgramResult result = train();
  expect_error(result, 4, {"999", "3,000", "data/small/train.bin", "vocabulary"});
  EXPECT_EQ(result.out.find("iter 0"), std::string::npos);
}

TEST_F(CliTest, HostilePickleRunsNothing) {
  const std::string hostile[] = {
      "cos\nsystem\n(S'touch pwned'\ntR.",
      "cposix\nsystem\n(S'touch pwned'\ntR.",
      std::string("\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x0btouch pwned\x85R.", 33),
      "c__builtin__\neval\n(S'open(\"pwned\",\"w\")'\ntR.",
  };
  for (const std::string& pickle : hostile) {
    folder_.write("data/small/meta.pkl", pickle);
    for (const char* command : {"train", "plan"}) {
      expect_error(run(Words{command} + tiny()), 4, {"data/small/meta.pkl"});
    }
    EXPECT_FALSE(exists("pwned"));
  }
}

TEST_F(CliTest, CorruptPickleIsNamedAndCostsNoMemory) {
  const std::string good = read("data/small/meta.pkl");
  const std::string corrupt[] = {
      "",
      "garbage",
      good.substr(0, good.size() / 2),
      // A string of 2^60 bytes, and a long of 2^31 - 1 bytes, that the file does not hold.
      std::string("\x80\x04\x8d\0\0\0\0\0\0\0\x10x.", 13),
      std::string("\x80\x04\x8b\xff\xff\xff\x7fx.", 9),
  };
  for (const std::string& pickle : corrupt) {
    folder_.write("data/small/meta.pkl", pickle);
    const ProgramResult result = train();
    expect_error(result, 4, {"data/small/meta.pkl"});
    if (kSanitized) continue;
    EXPECT_LT(result.peak_bytes, std::int64_t{64} << 20);
  }
}

TEST_F(CliTest, OutDirThatIsAFileIsNamed) {
  folder_.write("taken", "mine");
  expect_error(train({"--out_dir=taken"}), 2, {"taken", "file", "out_dir"});
  EXPECT_EQ(read("taken"), "mine");
  expect_error(train({"--out_dir=taken", "--init_from=resume"}), 2, {"taken", "file", "out_dir"});
  expect_error(run({"sample", "--out_dir=taken"}), 2, {"taken", "file", "out_dir"});
  EXPECT_EQ(read("taken"), "mine");
}

TEST_F(CliTest, OutDirThatCannotBeMadeIsNamed) {
  folder_.write("taken", "mine");
  for (const char* out_dir : {"taken/out", "/proc/snug-out"}) {
    const ProgramResult result = train({std::string("--out_dir=") + out_dir});
    expect_error(result, 5, {out_dir});
    EXPECT_EQ(result.out.find("iter 0"), std::string::npos);
  }
}

// A file system without room of its own is not a full one.
TEST_F(CliTest, OutDirInProcIsNotCalledFull) {
  const ProgramResult result = train({"--out_dir=/proc/snug-out"});
  expect_error(result, 5, {"cannot create folder /proc/snug-out", "--out_dir"});
  EXPECT_EQ(result.err.find("space"), std::string::npos) << result.err;
}

TEST_F(CliTest, AMistypedOptionIsNoFolder) {
  folder_.write("text.txt", std::string(4000, 'a'));
  expect_error(run({"prepare", "char", "text.txt", "--fodler"}), 2, {"--fodler", "prepare"});
  expect_error(run({"prepare", "tales", "data/t", "--sede=3"}), 2, {"--sede=3", "--seed"});
  expect_error(run({"verify", "--otu_dir=out"}), 2, {"--otu_dir"});
  EXPECT_FALSE(exists("--fodler"));
}

TEST_F(CliTest, OutDirWithoutPermissionIsNamed) {
  if (::geteuid() == 0) GTEST_SKIP() << "permissions do not hold for root";
  std::filesystem::create_directory(path("locked"));
  std::filesystem::permissions(
      path("locked"), std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  expect_error(train({"--out_dir=locked"}), 5, {"locked", "Permission denied"});
}

TEST_F(CliTest, BudgetTooSmallSaysWhatIsNeeded) {
  const nlohmann::json plan =
      parsed_json(run(Words{"plan"} + tiny({"--json", "--memory_budget=1MiB"})).out);
  const std::string needed = std::to_string(plan.at("total_bytes").get<std::int64_t>()) + " bytes";
  const ProgramResult result = train({"--memory_budget=1MiB"});
  expect_error(result, 3, {"does not fit", needed.c_str(), "1.00 MiB", "the program itself"});
  EXPECT_FALSE(exists("out"));
  // Enough for the program, too little for this model.
  const std::vector<std::string> wide = {"--n_embd=256", "--n_layer=4", "--memory_budget=120MiB"};
  expect_error(train(wide), 3, {"does not fit", "120.00 MiB", "largest part", "snug plan"});
  expect_error(train({"--memory_budget=plenty"}), 2, {"memory_budget", "plenty", "12GiB"});
}

TEST_F(CliTest, CudaWithoutACardNamesTheWayOut) {
  expect_error(train({"--device=cuda"}), 5, {"cuda", "--device=cpu"});
  EXPECT_EQ(run(Words{"plan"} + tiny({"--device=cuda"})).exit_code, 0);
  const ProgramResult automatic = train({"--device=auto"});
  EXPECT_EQ(automatic.exit_code, 0) << automatic.err;
  EXPECT_EQ(lines_like(automatic.out, "device: cpu.*").size(), 1u) << automatic.out;
}

TEST_F(CliTest, UnknownKeysAndBadValuesPointAtThePlace) {
  expect_error(train({"--lerning_rate=1e-3"}), 2, {"lerning_rate", "learning_rate", "^"});
  expect_error(train({"--max_iters=ten"}), 2, {"max_iters", "ten", "whole number"});
  expect_error(train({"--bias=perhaps"}), 2, {"bias", "perhaps"});
  expect_error(train({"--dropout=1.5"}), 2, {"dropout", "1.5"});
  expect_error(train({"--batch_size=0"}), 2, {"batch_size", "0"});
  expect_error(train({"--n_embd=33"}), 2, {"n_embd = 33", "n_head = 2", "n_embd = 32"});
  expect_error(train({"none.py"}), 2, {"none.py"});
  folder_.write("bad.py", "n_layer = 2\nn_head = open('x')\n");
  expect_error(train({"bad.py"}), 2, {"bad.py:2", "n_head = open('x')", "^"});
}

TEST_F(CliTest, KeysWithoutMeaningAreAcceptedAndSaidOnce) {
  const ProgramResult result = train({"--compile=False", "--wandb_log=False", "--backend=gloo"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(lines_like(result.out, ".*ignored.*").size(), 1u) << result.out;
}

TEST_F(CliTest, PrepareOfBadTextIsNamed) {
  expect_error(run({"prepare", "char", "none.txt", "data/x"}), 4, {"none.txt"});
  folder_.write("empty.txt", "");
  expect_error(run({"prepare", "char", "empty.txt", "data/x"}), 4, {"empty.txt"});
  folder_.write("latin1.txt", "caf\xe9 au lait");
  expect_error(run({"prepare", "char", "latin1.txt", "data/x"}), 4, {"latin1.txt", "UTF-8"});
  expect_error(run({"prepare", "char", "small.txt", "small.txt/x"}), 5, {"small.txt/x"});
  EXPECT_FALSE(exists("data/x/train.bin"));
}

}  // namespace
}  // namespace snug
