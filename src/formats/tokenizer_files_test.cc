// The tokenizer that goes with a model: into Hugging Face's files and GGUF's, and back.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/input_file.h"
#include "base/temporary_folder.h"
#include "formats/format.h"
#include "formats/formats_testing.h"
#include "formats/huggingface/tokenizer_files.h"
#include "tokenizer/gpt2_vocabulary.h"

namespace snug::formats {
namespace {

using checkpoint::TokenizerRecord;
using tokenizer::Gpt2Vocabulary;

const std::vector<std::string> kCharacters = {"\n", " ", "\"", "a", "é", "\\", "你", "😀"};

// A model of one layer with a vocabulary of this size.
Source small_source(std::int64_t vocab_size) {
  Source source = random_source(true, false);
  source.sizes.vocab_size = vocab_size;
  add_tensor(source, "transformer.wte.weight", {vocab_size, 8},
             std::vector<float>(static_cast<std::size_t>(vocab_size * 8), 0.5f));
  return source;
}

std::string content(const std::string& path) { return read_whole_file(path, 16 * kMiB); }

TEST(TokenizerFiles, CharactersComeBack) {
  const TemporaryFolder folder;
  Source source = random_source(true, false);  // a vocabulary of 11: three ids stand for nothing
  source.state.records.tokenizer = {checkpoint::kCharTokenizer, kCharacters};
  find_format("huggingface")->write(source, folder.path("a"), {});
  const Source back = open_checkpoint(folder.path("a"));
  EXPECT_EQ(back.state.records.tokenizer, source.state.records.tokenizer);
  EXPECT_FALSE(std::filesystem::exists(folder.path("a/merges.txt")));
}

TEST(TokenizerFiles, Gpt2sAreWrittenAndKnownAgain) {
  const TemporaryFolder folder;
  Source source = small_source(50304);
  source.state.records.tokenizer = {checkpoint::kGpt2Tokenizer, {}};
  find_format("huggingface")->write(source, folder.path("a"), {});
  EXPECT_EQ(content(folder.path("a/merges.txt")), Gpt2Vocabulary::merges_text());
  const auto json = nlohmann::json::parse(content(folder.path("a/tokenizer.json")));
  EXPECT_EQ(json["model"]["vocab"]["ĠHello"], 18435);
  EXPECT_EQ(json["model"]["vocab"].size(), 50257U);
  EXPECT_EQ(json["model"]["merges"].size(), 50000U);
  EXPECT_EQ(json["model"]["vocab"], nlohmann::json::parse(content(folder.path("a/vocab.json"))));
  EXPECT_EQ(nlohmann::json::parse(content(folder.path("a/config.json")))["eos_token_id"], 50256);
  EXPECT_EQ(open_checkpoint(folder.path("a")).state.records.tokenizer.kind,
            checkpoint::kGpt2Tokenizer);
  // tokenizer.json alone tells it, too.
  std::filesystem::remove(folder.path("a/merges.txt"));
  EXPECT_EQ(open_checkpoint(folder.path("a")).state.records.tokenizer.kind,
            checkpoint::kGpt2Tokenizer);
  // Another tokenizer of the same size is not taken for GPT-2's.
  nlohmann::json other = json;
  std::swap(other["model"]["merges"][0], other["model"]["merges"][1]);
  std::ofstream(folder.path("a/tokenizer.json")) << other;
  EXPECT_EQ(open_checkpoint(folder.path("a")).state.records.tokenizer, TokenizerRecord{});
  std::ofstream(folder.path("a/merges.txt")) << "#version: 0.2\na b\n";
  EXPECT_EQ(open_checkpoint(folder.path("a")).state.records.tokenizer, TokenizerRecord{});
}

// Masks of bytes among the weights, as older versions of transformers wrote them, and float64.
TEST(WeightFiles, TensorsOfOtherTypes) {
  const TemporaryFolder folder;
  const Source source = random_source(true, false);
  find_format("huggingface")->write(source, folder.path("a"), {});
  const std::string file = folder.path("a/model.safetensors");
  std::string bytes = content(file);
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  nlohmann::ordered_json header = nlohmann::ordered_json::parse(bytes.substr(8, length));
  std::string data = bytes.substr(8 + length);
  const std::size_t end = data.size();
  header["h.0.attn.bias"] = {
      {"dtype", "U8"}, {"shape", {1, 1, 2, 2}}, {"data_offsets", {end, end + 4}}};
  header["h.1.attn.bias"] = {
      {"dtype", "BOOL"}, {"shape", {4}}, {"data_offsets", {end + 4, end + 8}}};
  header["other"] = {{"dtype", "F64"}, {"shape", {1}}, {"data_offsets", {end + 8, end + 16}}};
  const std::string text = header.dump();
  length = text.size();
  std::ofstream(file, std::ios::binary).write(reinterpret_cast<const char*>(&length), sizeof length)
      << text << data << std::string(16, '\1');
  EXPECT_TRUE(same_weights(source, open_checkpoint(folder.path("a"))));
}

// GPT-2's own tokenizer.json names no type and has its pairs as texts; newer ones have lists.
TEST(TokenizerFiles, PairsOfBothForms) {
  const auto read = [](const nlohmann::json& merges) {
    const nlohmann::json file = {{"model", {{"vocab", {{"a", 0}}}, {"merges", merges}}}};
    return huggingface::tokenizer_in(file.dump()).kind;
  };
  nlohmann::json texts = nlohmann::json::array(), lists = nlohmann::json::array();
  for (const std::string_view pair : Gpt2Vocabulary::merges()) {
    const std::size_t space = pair.find(' ');
    texts.push_back(std::string(pair));
    lists.push_back({std::string(pair.substr(0, space)), std::string(pair.substr(space + 1))});
  }
  EXPECT_EQ(read(texts), checkpoint::kGpt2Tokenizer);
  EXPECT_EQ(read(lists), checkpoint::kGpt2Tokenizer);
  lists[7] = {"a"};
  EXPECT_EQ(read(lists), "");
}

TEST(TokenizerFiles, OtherTokenizersAreNotCharacters) {
  EXPECT_EQ(
      huggingface::tokenizer_in(huggingface::make_character_tokenizer(kCharacters)).characters,
      kCharacters);
  for (const char* text :
       {"", "{", "[]", "{}", R"({"model": 3})", R"({"model": {"type": "BPE", "vocab": []}})",
        R"({"model": {"type": "BPE", "merges": [], "vocab": {"ab": 0}}})",
        R"({"model": {"type": "BPE", "merges": [], "vocab": {"a": 1}}})",
        R"({"model": {"type": "BPE", "merges": [], "vocab": {"a": 0, "b": 0}}})",
        R"({"model": {"type": "BPE", "merges": [], "vocab": {"a": -1}}})",
        R"({"model": {"type": "BPE", "merges": ["a b"], "vocab": {"a": 0, "b": 1}}})",
        R"({"model": {"type": "WordPiece", "merges": [], "vocab": {"a": 0}}})"}) {
    EXPECT_EQ(huggingface::tokenizer_in(text), TokenizerRecord{}) << text;
  }
}

TEST(TokenizerFiles, GgufHoldsTheTokenizer) {
  const TemporaryFolder folder;
  Source source = small_source(50304);
  source.state.records.tokenizer = {checkpoint::kGpt2Tokenizer, {}};
  find_format("gguf")->write(source, folder.path("a.gguf"), {});
  const std::string bytes = content(folder.path("a.gguf"));
  for (const char* part : {"tokenizer.ggml.pre", "tokenizer.ggml.eos_token_id", "[PAD50303]",
                           "<|endoftext|>", "ĠHello", "Ġ t"}) {
    EXPECT_NE(bytes.find(part), bytes.npos) << part;
  }
  source = random_source(true, false);
  find_format("gguf")->write(source, folder.path("none.gguf"), {});
  EXPECT_NE(content(folder.path("none.gguf")).find("none"), bytes.npos);
  source.state.records.tokenizer = {checkpoint::kCharTokenizer, kCharacters};
  find_format("gguf")->write(source, folder.path("b.gguf"), {});
  const std::string characters = content(folder.path("b.gguf"));
  // The two bytes of é, the four of the face, as GPT-2 prints bytes.
  for (const char* part : {"Ã ©", "ð Ł", "ðŁĺ Ģ", "[PAD10]"}) {
    EXPECT_NE(characters.find(part), bytes.npos) << part;
  }
}

}  // namespace
}  // namespace snug::formats
