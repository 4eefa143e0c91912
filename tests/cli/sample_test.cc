// `snug sample`: what it prints, that the seed decides, and prompts of every kind.
#include <set>

#include "cli/testing.h"

namespace snug {
namespace {

constexpr const char* kDashes = "---------------\n";

class CliSampleTest : public CliTest {
 protected:
  CliSampleTest() {
    if (train().exit_code != 0) throw std::runtime_error("training failed");
  }
  ProgramResult sample(const Words& more) const {
    return run(Words{"sample", "--device=cpu", "--max_new_tokens=20", "--num_samples=2"} + more);
  }
  // How many different characters a text has; all are ASCII.
  std::string vocabulary_of(const std::string& name) const {
    const std::string text = read(name);
    return std::to_string(std::set<char>(text.begin(), text.end()).size());
  }
};

// The texts before the lines of dashes.
Words samples_of(std::string out) {
  Words samples;
  for (std::size_t at; (at = out.find(kDashes)) != std::string::npos;
       out.erase(0, at + std::string(kDashes).size())) {
    samples.push_back(out.substr(0, at));
  }
  EXPECT_EQ(out, "");
  return samples;
}

TEST_F(CliSampleTest, EachSampleIsFollowedByFifteenDashes) {
  const ProgramResult result = sample({"--start=the cat", "--num_samples=3"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Words samples = samples_of(result.out);
  ASSERT_EQ(samples.size(), 3u);
  for (const std::string& text : samples) {
    EXPECT_EQ(text.size(), std::string("the cat").size() + 20 + 1) << text;  // and a line's end
    EXPECT_EQ(text.rfind("the cat", 0), 0u) << text;
  }
  EXPECT_NE(samples[0], samples[1]);
}

TEST_F(CliSampleTest, TheSeedDecides) {
  const std::string first = sample({}).out;
  EXPECT_EQ(sample({}).out, first);
  EXPECT_NE(sample({"--seed=7"}).out, first);
  EXPECT_EQ(samples_of(sample({"--num_samples=1"}).out)[0], samples_of(first)[0]);
}

// A share that the likeliest token alone has.
TEST_F(CliSampleTest, ATinyTopPIsGreedy) {
  const std::string greedy = sample({"--top_k=1"}).out;
  EXPECT_EQ(sample({"--top_p=1e-9", "--seed=2"}).out, greedy);
  EXPECT_EQ(sample({"--top_p=1.0"}).out, sample({}).out);
  expect_error(sample({"--top_p=0"}), 2, {"top_p", "above 0 to 1"});
}

// nanoGPT's file has no characters, but names the data set that has them.
TEST_F(CliSampleTest, ACkptPtFindsTheCharactersOfItsDataSet) {
  ASSERT_EQ(run({"convert", "out", "nano/ckpt.pt"}).exit_code, 0);
  for (const char* model : {"--out_dir=nano", "--init_from=./nano", "--init_from=./nano/ckpt.pt"}) {
    EXPECT_EQ(sample({model}).out, sample({}).out) << model;
  }
}

TEST_F(CliSampleTest, TellsItsSpeed) { expect_holds(sample({}).err, {"40 tokens, ", "tokens/s"}); }

TEST_F(CliSampleTest, TopKOfOneIgnoresTheSeed) {
  const std::string greedy = sample({"--top_k=1", "--seed=1"}).out;
  EXPECT_EQ(sample({"--top_k=1", "--seed=2"}).out, greedy);
}

TEST_F(CliSampleTest, PromptMayComeFromAFile) {
  folder_.write("prompt.txt", "the dog");
  const ProgramResult result = sample({"--start=FILE:prompt.txt"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, sample({"--start=the dog"}).out);
}

TEST_F(CliSampleTest, PromptAndTextMayOutgrowTheBlock) {
  const std::string prompt(50, 'a');  // block_size is 16
  const ProgramResult result = sample({"--start=" + prompt, "--max_new_tokens=60"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  for (const std::string& text : samples_of(result.out)) EXPECT_EQ(text.size(), 50u + 60 + 1);
}

TEST_F(CliSampleTest, TakesTheModelFromTheCheckpointWhateverTheConfigSays) {
  const ProgramResult plain = sample({});
  EXPECT_EQ(sample({"--n_layer=7", "--n_embd=48", "--init_from=scratch"}).out, plain.out);
}

TEST_F(CliSampleTest, BadPromptsAreNamed) {
  expect_error(sample({"--start=FILE:none.txt"}), 4, {"none.txt", "--start"});
  expect_error(sample({"--start=FILE:data"}), 4, {"data", "folder"});
  folder_.write("empty.txt", "");
  expect_error(sample({"--start=FILE:empty.txt"}), 2, {"empty"});
  expect_error(sample({"--start="}), 2, {"start is empty"});
  expect_error(sample({"--start=\xC2\xA7"}), 4, {"\xC2\xA7", "vocabulary"});
  expect_error(sample({"--start=caf\xFF"}), 2, {"UTF-8"});
}

TEST_F(CliSampleTest, NothingToSampleFromIsSaid) {
  expect_error(sample({"--out_dir=nowhere"}), 4, {"nowhere", "no checkpoint", "--out_dir"});
}

TEST_F(CliSampleTest, TheCheckpointHasItsOwnTokenizer) {
  const std::string before = sample({}).out;
  std::filesystem::remove_all(path("data"));
  const ProgramResult alone = sample({});
  ASSERT_EQ(alone.exit_code, 0) << alone.err;
  EXPECT_EQ(alone.out, before);
  expect_error(sample({"--dataset=small"}), 4,
               {"data/small/meta.pkl is not there", "leave --dataset out"});
}

TEST_F(CliSampleTest, DamagedNewestCheckpointFallsBackWithAWarning) {
  folder_.write("out/step-000011/model.safetensors", "torn");
  const ProgramResult result = sample({});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  expect_holds(result.err, {"skipped", "step-000011/model.safetensors"});
  EXPECT_EQ(samples_of(result.out).size(), 2u);
}

TEST_F(CliSampleTest, DataSetWithMoreCharactersThanTheModelIsRefused) {
  folder_.write("more.txt", small_text() + "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ");
  ASSERT_EQ(run({"prepare", "char", "more.txt", "data/more"}).exit_code, 0);
  expect_error(sample({"--dataset=more", "--start=Z"}), 4, {"data/more/meta.pkl", "--dataset"});
  const std::string known = vocabulary_of("small.txt"), wanted = vocabulary_of("more.txt");
  ASSERT_EQ(run({"prepare", "char", "more.txt", "data/small"}).exit_code, 0);
  expect_error(sample({"--start=Z", "--dataset=small"}), 4,
               {"data/small/meta.pkl", ("knows " + known).c_str(), ("has " + wanted).c_str()});
}

// A vocabulary rounded up: the ids that stand for nothing are never drawn.
TEST_F(CliSampleTest, ModelWithMoreTokensThanTheDataSetWrites) {
  ASSERT_EQ(train({"--vocab_size=512", "--max_iters=1"}).exit_code, 0);
  const ProgramResult result = sample({"--temperature=100", "--start=a"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  for (const std::string& text : samples_of(result.out)) EXPECT_EQ(text.size(), 1u + 20 + 1);
}

TEST_F(CliSampleTest, NoticesGoToTheErrorStream) {
  const ProgramResult result = sample({"--compile=False", "--n_layer=7"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(lines_like(result.err, ".*ignored.*compile.*").size(), 1u) << result.err;
  EXPECT_EQ(lines_like(result.err, "n_layer = 2 comes from the checkpoint.*").size(), 1u)
      << result.err;
  EXPECT_EQ(result.out, sample({}).out);
  const std::string speed_only = sample({}).err;  // without a notice, the speed alone
  EXPECT_EQ(lines_like(speed_only, "40 tokens, [0-9]+ tokens/s").size(), 1u) << speed_only;
  EXPECT_EQ(std::count(speed_only.begin(), speed_only.end(), '\n'), 1) << speed_only;
}

TEST_F(CliSampleTest, BudgetAndDeviceAreChecked) {
  expect_error(sample({"--memory_budget=1MiB"}), 3, {"does not fit", "bytes"});
  expect_error(sample({"--device=cuda"}), 5, {"cuda", "--device=cpu"});
}

}  // namespace
}  // namespace snug
