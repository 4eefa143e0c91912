// Hugging Face folders that are not as Snug writes them: other tensors in the file, caches.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>

#include "base/error.h"
#include "base/input_file.h"
#include "base/temporary_folder.h"
#include "formats/format.h"
#include "formats/formats_testing.h"
#include "formats/huggingface/huggingface.h"
#include "formats/huggingface/model_config.h"

namespace snug::formats {
namespace {

namespace fs = std::filesystem;

class HuggingFaceFolder : public ::testing::Test {
 protected:
  HuggingFaceFolder() {
    find_format("huggingface")->write(random_source(true, false), folder_.path("model"), {});
  }
  std::string path(const std::string& name) const { return folder_.path(name); }
  std::string content(const std::string& name) const {
    return read_whole_file(path(name), 1 << 24);
  }
  void write(const std::string& name, std::string_view text) const {
    fs::create_directories(fs::path(path(name)).parent_path());
    std::ofstream(path(name), std::ios::binary) << text;
  }
  // In the header of the weights; of the same length, which it begins with.
  void change_header(const std::string& from, const std::string& to) const {
    std::string bytes = content("model/model.safetensors");
    const std::size_t at = bytes.find(from);
    ASSERT_NE(at, bytes.npos) << bytes.substr(0, 300);
    ASSERT_EQ(from.size(), to.size());
    write("model/model.safetensors", bytes.replace(at, from.size(), to));
  }
  std::string error() const {
    try {
      open_checkpoint(path("model"));
    } catch (const DataError& error) {
      return error.what();
    }
    return "";
  }
  void expect_error(std::initializer_list<const char*> parts) const {
    const std::string told = error();
    for (const char* part : parts) EXPECT_NE(told.find(part), told.npos) << part << "\n" << told;
  }

  TemporaryFolder folder_;
};

TEST_F(HuggingFaceFolder, QuantizedWeightsAreNamed) {
  EXPECT_EQ(error(), "");
  // Four bytes an element, and so the same extent.
  change_header("\"transformer.h.0.attn.c_attn.weight\":{\"dtype\":\"F32\"",
                "\"transformer.h.0.attn.c_attn.weight\":{\"dtype\":\"I32\"");
  expect_error({"'transformer.h.0.attn.c_attn.weight' is of I32", "quantized", "dequantize()"});
}

TEST_F(HuggingFaceFolder, AConfigThatSaysSo) {
  const std::string config = content("model/config.json");
  write("model/config.json",
        R"({"quantization_config": {"quant_method": "gptq", "bits": 4},)" + config.substr(1));
  expect_error({"config.json", "quantization_config ('gptq')", "dequantize()"});
  write("model/config.json", R"({"quantization_config": null,)" + config.substr(1));
  EXPECT_EQ(error(), "");
}

TEST_F(HuggingFaceFolder, WhatAConfigLeavesOutIsTransformersDefault) {
  const auto parsed = [](const char* text) {
    return huggingface::parse_model_config(text, "config.json");
  };
  const config::GptSizes sizes = parsed(R"({"model_type": "gpt2", "n_embd": 96})").sizes;
  EXPECT_EQ(sizes.n_layer, 12);
  EXPECT_EQ(sizes.n_head, 12);
  EXPECT_EQ(sizes.n_embd, 96);
  EXPECT_EQ(sizes.block_size, 1024);
  EXPECT_EQ(sizes.vocab_size, 50257);
  EXPECT_EQ(sizes.gelu, "tanh");
  EXPECT_THROW(parsed(R"({"n_embd": 96})"), DataError);
  EXPECT_EQ(parsed(R"({"model_type": "gpt2", "activation_function": "gelu_accurate"})").sizes.gelu,
            "tanh");
  EXPECT_THROW(parsed(R"({"model_type": "gpt2", "activation_function": "gelu_10"})"), DataError);
}

TEST_F(HuggingFaceFolder, ShapesAreToldAsTheFileHasThem) {
  const std::string name = "\"transformer.h.1.mlp.c_fc.weight\":{\"dtype\":\"F32\",\"shape\":";
  change_header(name + "[8,32]", name + "[4,64]");
  expect_error({"transformer.h.1.mlp.c_fc.weight", "wanted (8, 32), had (4, 64)"});
  change_header(name + "[4,64]", name + "[32,8]");
  expect_error({"wanted (8, 32), had (32, 8): it is turned, as in nn.Linear"});
}

TEST_F(HuggingFaceFolder, WeightsOfOtherPrograms) {
  fs::remove(path("model/model.safetensors"));
  expect_error({"no weights", "model.safetensors, pytorch_model.bin"});
  write("model/tf_model.h5", "");
  expect_error({"no weights", "tf_model.h5", "from_tf=True"});
  fs::remove(path("model/tf_model.h5"));
  write("model/model.fp16.safetensors", "");
  expect_error({"no weights", "model.fp16.safetensors is there", "the name model.safetensors"});
  // Neither a part of weights nor a link to nothing can be given the plain name.
  fs::remove(path("model/model.fp16.safetensors"));
  write("model/model.fp16-00001-of-00002.safetensors", "");
  fs::create_symlink("../blobs/none", path("model/model.safetensors"));
  expect_error({"no weights", "download the model again"});
}

// Adds a head to the file: the embedding's bytes, or with one of them changed.
class HuggingFaceHead : public HuggingFaceFolder {
 protected:
  void add_head(bool differs) const {
    const std::string bytes = content("model/model.safetensors");
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data(), sizeof length);
    std::string header = bytes.substr(8, length), data = bytes.substr(8 + length);
    header.erase(header.find_last_not_of(' ') + 1);
    const auto source = open_checkpoint(path("model"));
    const std::vector<float> wte = read_whole(source, "transformer.wte.weight");
    std::string head(reinterpret_cast<const char*>(wte.data()), wte.size() * sizeof(float));
    if (differs) head[2] = static_cast<char>(head[2] ^ 64);
    header.back() = ',';
    header += R"("lm_head.weight":{"dtype":"F32","shape":[11,8],"data_offsets":[)" +
              std::to_string(data.size()) + "," + std::to_string(data.size() + head.size()) + "]}}";
    length = header.size();
    write(
        "model/model.safetensors",
        std::string(reinterpret_cast<const char*>(&length), sizeof length) + header + data + head);
  }
  void set_tied(bool tied) const {
    std::string config = content("model/config.json");
    const std::size_t at = config.find("\"tie_word_embeddings\"");
    ASSERT_NE(at, config.npos);
    config.replace(at, config.find(',', at) - at,
                   std::string("\"tie_word_embeddings\": ") + (tied ? "true" : "false"));
    write("model/config.json", config);
  }
};

TEST_F(HuggingFaceHead, TheSameAsTheEmbedding) {
  add_head(false);
  EXPECT_EQ(error(), "");
  set_tied(false);
  EXPECT_EQ(error(), "");
}

TEST_F(HuggingFaceHead, AnotherThanTheEmbedding) {
  add_head(true);
  expect_error({"lm_head.weight is not tied", "they differ", "transformers 5"});
  set_tied(false);
  expect_error({"lm_head.weight is not tied"});
}

TEST_F(HuggingFaceHead, MissingWhereTheConfigHasItApart) {
  set_tied(false);
  expect_error({"tie_word_embeddings = false", "no lm_head.weight"});
}

// An environment variable for the time of a test.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    value.empty() ? ::unsetenv(name) : ::setenv(name, value.c_str(), 1);
  }
  ~Variable() { old_ ? ::setenv(name_, old_->c_str(), 1) : ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> old_;
};

TEST_F(HuggingFaceFolder, CachesAreFoundByTheirVariables) {
  const Variable hub("HF_HUB_CACHE", ""), old_hub("HUGGINGFACE_HUB_CACHE", ""),
      transformers("TRANSFORMERS_CACHE", ""), xdg("XDG_CACHE_HOME", ""), hf_home("HF_HOME", ""),
      home("HOME", path("home"));
  using huggingface::find_downloaded;
  EXPECT_EQ(find_downloaded("gpt2"), std::nullopt);
  write("home/.cache/huggingface/hub/models--gpt2/snapshots/b/config.json", "{}");
  EXPECT_EQ(find_downloaded("gpt2")->filename(), "b");
  {
    // Only a config was fetched into the first place; the weights are elsewhere.
    write("t/models--openai-community--gpt2/snapshots/c/config.json", "{}");
    write("t/models--openai-community--gpt2/snapshots/c/pytorch_model.bin", "");
    const Variable set("TRANSFORMERS_CACHE", path("t"));
    EXPECT_EQ(find_downloaded("gpt2")->filename(), "c");
    EXPECT_EQ(huggingface::download_caches().size(), 2U);
  }
  {
    const Variable set("HF_HOME", "~/mine");
    EXPECT_EQ(find_downloaded("gpt2"), std::nullopt);
    EXPECT_EQ(huggingface::download_caches().front(), path("home/mine/hub"));
  }
}

TEST_F(HuggingFaceFolder, TheSnapshotOfMainIsPreferredIfItHasWeights) {
  const Variable hub("HF_HUB_CACHE", path("hub")), transformers("TRANSFORMERS_CACHE", "");
  const std::string model = "hub/models--gpt2/";
  for (const char* snapshot : {"a", "b", "c"}) {
    write(model + "snapshots/" + snapshot + "/config.json", "{}");
    if (*snapshot != 'c') write(model + "snapshots/" + snapshot + "/model.safetensors", "");
  }
  write(model + "refs/main", "b\n");
  EXPECT_EQ(huggingface::find_downloaded("gpt2")->filename(), "b");
  write(model + "refs/main", "c");
  EXPECT_EQ(huggingface::find_downloaded("gpt2")->filename(), "a");
}

}  // namespace
}  // namespace snug::formats
