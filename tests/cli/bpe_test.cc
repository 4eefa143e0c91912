// GPT-2 tokens from the command line: prepare bpe, tokenize, data, and training on what they made.
#include "base/utf8.h"
#include "cli/testing.h"

namespace snug {
namespace {

// tests/metrics and bench/tokenizer_compare.py compare with the real thing; here the way through.
TEST_F(CliTest, TokenizeGoesThereAndBack) {
  folder_.write("hello", "Hello world");
  EXPECT_EQ(run({"tokenize", "--json", "hello"}).out, "[15496, 995]\n");
  EXPECT_EQ(run({"tokenize", "hello"}).out, "15496 995\n");
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += std::string(1, static_cast<char>(i)) + " \xE4\xBD";
  folder_.write("bytes", bytes);
  folder_.write("ids", run({"tokenize", "--json", "bytes"}).out);
  EXPECT_EQ(run({"tokenize", "--decode", "ids"}).out, bytes);
  for (const char* packed :
       {"\x1F\x8B\x08 abc", "PAR1S"}) {  // is text here, whatever it looks like
    folder_.write("packed", packed);
    folder_.write("ids", run({"tokenize", "packed"}).out);
    EXPECT_EQ(run({"tokenize", "--decode", "ids"}).out, packed);
  }
  folder_.write("special", "a<|endoftext|>");
  EXPECT_EQ(run({"tokenize", "--special", "special"}).out, "64 50256\n");
  folder_.write("empty", "");
  EXPECT_EQ(run({"tokenize", "--json", "empty"}).out, "[]\n");
}

TEST_F(CliTest, TokenizeSaysWhatIsWrong) {
  folder_.write("ids", "[15496, 50257]");
  expect_error(run({"tokenize", "--decode", "ids"}), 4, {"ids", "byte 9", "50257"});
  folder_.write("ids", "[15496, x]");
  expect_error(run({"tokenize", "--decode", "ids"}), 4, {"ids", "byte 9", "[15496, 995]"});
  expect_error(run({"tokenize", "none"}), 4, {"none is missing"});
  expect_error(run({"tokenize"}), 2, {"one file"});
  expect_error(run({"tokenize", "--jsn", "ids"}), 2, {"--jsn", "--json"});
}

TEST_F(CliTest, BpeDataIsPreparedDescribedAndTrainedOn) {
  const ProgramResult made = run(
      {"prepare", "bpe", "small.txt", "data/bpe", "--val=10%", "--split=characters", "--eot=none"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  expect_holds(made.out, {"1 document, ", "train has", "val has", "wrote train.bin and val.bin"});
  EXPECT_EQ(run({"tokenize", "--decode", "data/bpe/train.bin"}).out +
                run({"tokenize", "--decode", "data/bpe/val.bin"}).out,
            small_text());
  const ProgramResult described = run({"data", "data/bpe"});
  EXPECT_EQ(described.exit_code, 0);
  expect_holds(described.out, {"GPT-2", "train", "val", "begins"});
  const nlohmann::json json = parsed_json(run({"data", "data/bpe", "--json"}).out);
  EXPECT_EQ(json["splits"]["train"]["tokens"].get<std::size_t>() * 2,
            read("data/bpe/train.bin").size());
  EXPECT_EQ(json["splits"]["val"]["outside_vocabulary"], 0);
  ASSERT_EQ(train({"--dataset=bpe", "--max_iters=1"}).exit_code, 0);
  // The checkpoint knows its tokenizer, and so does what is made of it.
  std::filesystem::remove_all(path("data"));
  const Words few = {"--start=the cat<|endoftext|>", "--num_samples=1", "--max_new_tokens=3",
                     "--device=cpu"};
  const ProgramResult sampled = run(Words{"sample", "--out_dir=out"} + few);
  EXPECT_EQ(sampled.exit_code, 0) << sampled.err;
  EXPECT_EQ(sampled.out.rfind("the cat<|endoftext|>", 0), 0U) << sampled.out;
  for (const char* copy : {"face", "nano.pt"}) {
    ASSERT_EQ(run({"convert", "out", copy}).exit_code, 0);
    EXPECT_EQ(run(Words{"sample", std::string("--init_from=./") + copy} + few).out, sampled.out);
  }
  EXPECT_TRUE(exists("face/tokenizer.json"));
}

// As every command that a signal stops; what is done so far is kept.
TEST_F(CliTest, APreparationThatIsStoppedSaysBySignal) {
  std::string text;
  while (text.size() < (64 << 20)) text += small_text();
  folder_.write("long.txt", text);
  for (const int signal : {SIGINT, SIGTERM}) {
    RunningProgram program({"prepare", "bpe", "long.txt", "data/long", "--threads=1"}, settings());
    program.wait_until_handled(signal);
    program.send(signal);
    const ProgramResult stopped = program.wait();
    expect_error(stopped, 128 + signal, {"stopped", "data/long is as it was before"});
  }
}

TEST_F(CliTest, ShardsTrainLikeTheOneFile) {
  run({"prepare", "bpe", "small.txt", "data/one"});
  const ProgramResult made =
      run({"prepare", "bpe", "small.txt", "data/many", "--format=llmc", "--shard=100"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  expect_holds(made.out, {"shards", "many_train_000001.bin", "many_val_00000"});
  const Words run_of = {"--max_iters=4", "--always_save_checkpoint=True"};
  ASSERT_EQ(train(run_of + Words{"--dataset=one", "--out_dir=out-one"}).exit_code, 0);
  const ProgramResult many = train(run_of + Words{"--dataset=many", "--out_dir=out-many"});
  ASSERT_EQ(many.exit_code, 0) << many.err;
  EXPECT_EQ(model("out-one"), model("out-many"));
}

TEST_F(CliTest, PrepareBpeSaysWhatIsWrong) {
  expect_error(run({"prepare", "bpe", "small.txt"}), 2, {"FILE... data/NAME"});
  expect_error(run({"prepare", "bpe", "small.txt", "data/x", "--val=2"}), 2, {"--val=2", "10%"});
  expect_error(run({"prepare", "bpe", "small.txt", "data/x", "--eot=before"}), 2,
               {"--eot=before", "after, none"});
  expect_error(run({"prepare", "bpe", "small.txt", "data/x", "--shard=5"}), 2, {"--format=llmc"});
  expect_error(run({"prepare", "bpe", "small.txt", "data/small"}), 4, {"data/small", "meta.pkl"});
  folder_.write("bad.jsonl", "{\"text\": \"a\"}\n{\"text\": \n");
  expect_error(run({"prepare", "bpe", "bad.jsonl", "data/x"}), 4,
               {"bad.jsonl, line 2", "--skip-bad"});
  EXPECT_FALSE(exists("data/x/train.bin"));
}

TEST_F(CliTest, DataOutsideTheVocabularyIsCounted) {
  folder_.write("data/odd/train.bin", little_endian_bytes<std::uint16_t>({1, 2, 60000, 3, 61000}));
  folder_.write("data/odd/val.bin", little_endian_bytes<std::uint16_t>({1, 2}));
  const ProgramResult result = run({"data", "data/odd"});
  EXPECT_EQ(result.exit_code, 4);
  expect_holds(result.out, {"2 tokens are outside the vocabulary", "position 2", "61000"});
  expect_error(run({"data", "data/none"}), 4, {"data/none", "no folder"});
}

// The sample of 60 tokens ends within the three bytes of a character.
TEST_F(CliTest, TheSampleOfADataSetEndsWithAWholeCharacter) {
  std::string text = "x";
  for (int i = 0; i < 400; ++i) text += "\u9f98";  // two tokens and more each
  folder_.write("wide.txt", text);
  const Words make = {"prepare", "bpe", "wide.txt", "data/wide", "--eot=none"};
  ASSERT_EQ(run(make).exit_code, 0);
  const std::string ids = read("data/wide/train.bin");
  ASSERT_GT(ids.size(), 122U);
  folder_.write("first.bin", ids.substr(0, 120));
  const std::string cut = run({"tokenize", "--decode", "first.bin"}).out;
  ASSERT_TRUE(find_invalid_utf8(cut)) << "the test wants another text";
  const nlohmann::json json = parsed_json(run({"data", "data/wide", "--json"}).out);
  EXPECT_EQ(json["splits"]["train"]["sample"], cut.substr(0, *find_invalid_utf8(cut)));
  const ProgramResult shown = run({"data", "data/wide"});
  EXPECT_EQ(shown.out.find("\\x"), std::string::npos) << shown.out;
}

TEST_F(CliTest, RawIdsOf32BitsAreRefused) {
  std::vector<std::uint32_t> ids;
  for (std::uint32_t i = 0; i < 400; ++i) ids.push_back(i * 97 % 50257);
  for (const char* side : {"data/w/train.bin", "data/w/val.bin"}) {
    folder_.write(side, little_endian_bytes(ids));
  }
  const ProgramResult described = run({"data", "data/w"});
  EXPECT_EQ(described.exit_code, 4);
  expect_holds(described.out, {"32 bits"});
  expect_error(train({"--dataset=w"}), 4, {"data/w/train.bin", "32 bits", "np.uint16"});
}

TEST_F(CliTest, ShakespeareIsTakenFromAFileOrAnAddress) {
  const std::string address = "--url=file://" + path("elsewhere.txt");
  expect_error(run({"prepare", "shakespeare", address}), 4,
               {"elsewhere.txt", "data/shakespeare/input.txt", "same command again"});
  EXPECT_FALSE(exists("data/shakespeare/input.txt"));
  folder_.write("data/shakespeare_char/input.txt", small_text());
  const ProgramResult made = run({"prepare", "shakespeare_char"});
  EXPECT_EQ(made.exit_code, 0) << made.err;
  expect_holds(made.out, {"not the usual text", "vocab size"});
  EXPECT_EQ(read("data/shakespeare_char/train.bin"), read("data/small/train.bin"));
}

TEST_F(CliTest, PlotDrawsRuns) {
  ASSERT_EQ(train({"--out_dir=out-a"}).exit_code, 0);
  ASSERT_EQ(train({"--out_dir=out-b", "--seed=2"}).exit_code, 0);
  const ProgramResult made = run({"plot", "out-a", "out-b", "--out=both.html"});
  EXPECT_EQ(made.exit_code, 0) << made.err;
  expect_holds(read("both.html"), {"out-a", "out-b", "<svg", "best val loss"});
  EXPECT_EQ(read("both.svg").rfind("<svg", 0), 0u);
  EXPECT_TRUE(exists("out-a/tensorboard"));
  expect_error(run({"plot", "none"}), 4, {"none", "out_dir"});
  expect_error(run({"plot"}), 2, {"out_dir"});
}

}  // namespace
}  // namespace snug
