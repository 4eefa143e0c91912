// `snug convert`, `snug eval` and runs that start from other programs' files, as a user has them.
#include <filesystem>
#include <fstream>

#include "testing.h"

namespace snug {
namespace {

class ConvertTest : public CliTest {
 protected:
  ConvertTest() {
    folder_.write("batch.json", R"({"tokens": [[1, 2, 3, 4]], "targets": [[2, 3, 4, 5]]})");
  }
  std::string loss_of(const std::string& checkpoint) const {
    const ProgramResult result = run({"eval", checkpoint, "--tokens=batch.json"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out.substr(0, result.out.find('\n'));
  }
  void convert(const Words& words) const {
    const ProgramResult result = run(Words{"convert"} + words);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    // Whoever has no optimizer state does not hear of it.
    EXPECT_EQ(result.out.find("optimizer") != std::string::npos, words.front() == "out")
        << result.out;
  }
};

TEST_F(ConvertTest, EveryFormatGivesTheSameLossAndNothingIsOverwritten) {
  ASSERT_EQ(train({"--out_dir=out", "--gelu=tanh", "--bias=True"}).exit_code, 0);
  const std::string loss = loss_of("out");
  EXPECT_EQ(loss.rfind("loss ", 0), 0U) << loss;
  convert({"out", "face"});
  convert({"face", "model.bin"});
  convert({"model.bin", "own"});
  convert({"own", "model.gguf", "--dtype=float16"});
  expect_error(run({"convert", "model.gguf", "again"}), 4, {"GGUF is written, but not read"});
  for (const char* checkpoint : {"face", "model.bin", "own"}) {
    EXPECT_EQ(loss_of(checkpoint), loss) << checkpoint;
  }
  EXPECT_EQ(model("own"), model("out"));
  const Words few = {"--num_samples=1", "--max_new_tokens=9", "--device=cpu"};
  const ProgramResult sampled = run(Words{"sample", "--init_from=./face"} + few);
  EXPECT_EQ(sampled.out, run(Words{"sample", "--out_dir=out"} + few).out) << sampled.err;
  expect_error(run(Words{"sample", "--init_from=./model.bin"} + few), 4, {"no tokenizer is known"});
  expect_error(run({"convert", "out", "face"}), 2,
               {"face exists already", "nothing is overwritten"});
  expect_error(run({"convert", "out", "a.onnx"}), 2, {"a.onnx", "--to="});
  expect_error(run({"convert", "small.txt", "b"}), 4, {"small.txt", "no checkpoint"});
}

// A run that went through ckpt.pt goes on to the same bits as one that did not.
TEST_F(ConvertTest, ResumesFromCkptPtAsFromItsOwn) {
  const Words more = {"--max_iters=10", "--init_from=resume"};
  ASSERT_EQ(train({"--out_dir=out", "--max_iters=5"}).exit_code, 0);
  convert({"out", "nano/ckpt.pt"});
  convert({"out", "other/", "--to=nanogpt"});
  EXPECT_EQ(read("other/ckpt.pt"), read("nano/ckpt.pt"));
  expect_error(run({"convert", "out", "nano", "--to=nanogpt"}), 2, {"nano/ckpt.pt exists already"});
  expect_error(run({"convert", "out", "none/at/all.pt"}), 2, {"there is no folder none/at"});
  EXPECT_EQ(loss_of("nano"), loss_of("out"));
  ASSERT_EQ(train(Words{"--out_dir=out"} + more).exit_code, 0);
  const ProgramResult resumed = train(Words{"--out_dir=nano"} + more);
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  expect_holds(resumed.out, {"Resuming training from nano/ckpt.pt", "continuing at iteration 6"});
  EXPECT_EQ(model("nano"), model("out"));
  const ProgramResult again =
      train(Words{"--out_dir=nano", "--max_iters=12", "--init_from=resume"});
  expect_holds(again.out, {"ckpt.pt is not further on", "continuing at iteration 11"});
}

TEST_F(ConvertTest, FinetunesFromAFolder) {
  ASSERT_EQ(train({"--out_dir=out", "--bias=True"}).exit_code, 0);
  convert({"out", "face"});
  const Words finetune = {
      "--dataset=small",      "--device=cpu",     "--init_from=./face",
      "--out_dir=tuned",      "--batch_size=2",   "--gradient_accumulation_steps=2",
      "--max_iters=4",        "--eval_iters=1",   "--eval_interval=2",
      "--learning_rate=3e-3", "--decay_lr=False", "--dropout=0.1",
      "--block_size=8"};
  const ProgramResult planned = run(Words{"plan", "--json"} + finetune);
  EXPECT_EQ(parsed_json(planned.out).at("parameters").is_number(), true) << planned.err;
  const ProgramResult tuned = run(Words{"train", "--fit"} + finetune);
  ASSERT_EQ(tuned.exit_code, 0) << tuned.err;
  expect_holds(tuned.out, {"Initializing from ./face", "(the model's, init_from = './face')"});
  expect_error(run(Words{"train"} + finetune + Words{"--block_size=64"}), 2,
               {"block_size = 64", "16 positions"});
}

TEST_F(ConvertTest, SaysHowToGetAModelAndWhatDoesNotMatch) {
  ::setenv("HF_HUB_CACHE", path("nothing").c_str(), 1);
  expect_error(run({"train", "--dataset=small", "--init_from=gpt2", "--device=cpu"}), 4,
               {"gpt2 is not here", "hf download gpt2"});
  expect_error(run({"train", "--init_from=./nowhere"}), 4,
               {"./nowhere is not here", "check the path of init_from"});
  expect_error(run({"train", "--init_from=scrath"}), 2, {"scrath", "or the path of a model"});
  ASSERT_EQ(train({"--out_dir=out", "--vocab_size=40"}).exit_code, 0);
  convert({"out", "face"});
  expect_error(run(Words{"train", "--dataset=small", "--device=cpu", "--init_from=./face"}), 4,
               {"different vocabularies", "the model 40"});
  ASSERT_EQ(run({"prepare", "bpe", "small.txt", "data/bpe"}).exit_code, 0);
  expect_error(run({"train", "--dataset=bpe", "--device=cpu", "--init_from=face"}), 4,
               {"different vocabularies", "data/bpe/train.bin", "the model in face knows 0 to 39"});
  folder_.write("long.json", R"({"tokens": [[1, 2, 39, 40]], "targets": [[1, 1, 1, 1]]})");
  expect_error(run({"eval", "face", "--tokens=long.json"}), 4, {"token 40", "it has 40"});
  folder_.write("bad.json", "{");
  expect_error(run({"eval", "face", "--tokens=bad.json"}), 4, {"bad.json", "not JSON"});
}

}  // namespace
}  // namespace snug
