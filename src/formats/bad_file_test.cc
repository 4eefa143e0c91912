// Files that are cut off, damaged, hostile or of something else: an error that names what is wrong.
#include <gtest/gtest.h>

#include <fstream>

#include "base/error.h"
#include "base/input_file.h"
#include "base/temporary_folder.h"
#include "formats/format.h"
#include "formats/formats_testing.h"
#include "formats/torch/zip_archive.h"
#include "formats/torch/zip_writer.h"
#include "pickle/writer.h"

namespace snug::formats {
namespace {

class BadFile : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.path(name); }
  std::string content(const std::string& name) const {
    return read_whole_file(path(name), 1 << 24);
  }
  void write(const std::string& name, std::string_view text) const {
    std::ofstream(path(name), std::ios::binary) << text;
  }
  // A whole file of a small model.
  void write_model(const char* format, const std::string& name) const {
    find_format(format)->write(random_source(true, true), path(name), {});
  }

  // The message of opening it and reading every tensor; "" when all is well.
  std::string error_of(const std::string& name) const {
    try {
      const Source source = open_checkpoint(path(name));
      for (const auto& [tensor, stored] : source.tensors) read_whole(source, tensor);
    } catch (const DataError& error) {
      return error.what();
    }
    return "";
  }
  void expect_error(const std::string& name, std::initializer_list<const char*> parts) const {
    const std::string error = error_of(name);
    EXPECT_NE(error, "");
    for (const char* part : parts) EXPECT_NE(error.find(part), error.npos) << error;
  }

  // A zip of torch's form around this pickle, and one storage of 8 bytes.
  void write_pickle(const std::string& name, pickle::PickleWriter& pickle) const {
    std::filesystem::remove(path(name));
    torch::ZipWriter zip(path(name));
    zip.add("x/data.pkl", pickle.finish());
    zip.add("x/data/0", std::string(8, '\0'));
    zip.finish();
  }

  TemporaryFolder folder_;
};

TEST_F(BadFile, CutOffAnywhere) {
  write_model("nanogpt", "a.pt");
  write_model("llmc", "a.bin");
  for (const std::string whole : {"a.pt", "a.bin"}) {
    const std::string bytes = content(whole);
    for (std::size_t length = 0; length < bytes.size(); length += 1 + bytes.size() / 50) {
      write("cut" + whole, bytes.substr(0, length));
      EXPECT_NE(error_of("cut" + whole), "") << whole << " " << length;
    }
    EXPECT_EQ(error_of(whole), "");
  }
}

TEST_F(BadFile, AChangedByteOfAStorageIsNoticed) {
  write_model("nanogpt", "a.pt");
  const Source source = random_source(true, true);
  const std::vector<float> values = read_whole(source, "transformer.wte.weight");
  std::string bytes = content("a.pt");
  const std::size_t at =
      bytes.find(std::string_view(reinterpret_cast<const char*>(values.data()), values.size() * 4));
  ASSERT_NE(at, bytes.npos);
  bytes[at + 9] = static_cast<char>(bytes[at + 9] ^ 4);
  write("a.pt", bytes);
  expect_error("a.pt", {"a.pt", "data/0", "damaged"});
}

TEST_F(BadFile, APickleThatWouldCallSomething) {
  pickle::PickleWriter pickle;
  pickle.global("posix", "system");
  pickle.begin_tuple();
  pickle.text("true");
  pickle.end_tuple();
  pickle.reduce();
  write_pickle("evil.pt", pickle);
  expect_error("evil.pt", {"evil.pt", "posix.system", "only tensors"});
}

TEST_F(BadFile, ACheckpointOfAnotherModel) {
  write_model("nanogpt", "a.pt");
  using Names = std::vector<std::pair<std::string, std::string>>;  // of one length
  // The same file, with names in its pickle changed.
  const auto renamed = [&](const Names& names) {
    const torch::ZipArchive archive(path("a.pt"));
    std::filesystem::remove(path("b.pt"));
    torch::ZipWriter zip(path("b.pt"));
    for (const torch::ZipArchive::Entry& entry : archive.entries()) {
      std::string bytes(static_cast<std::size_t>(entry.byte_count), '\0');
      torch::ZipBytes(archive, entry).read(0, std::as_writable_bytes(std::span(bytes)));
      for (const auto& [from, to] : names) {
        const std::size_t at = entry.name.ends_with("data.pkl") ? bytes.find(from) : bytes.npos;
        if (at != bytes.npos) bytes.replace(at, from.size(), to);
      }
      zip.add(entry.name, bytes);
    }
    zip.finish();
  };
  renamed({});
  EXPECT_EQ(error_of("b.pt"), "");
  // Before there was the key.
  renamed({{std::string("X\4\0\0\0bias", 9), std::string("X\4\0\0\0else", 9)}});
  EXPECT_EQ(error_of("b.pt"), "");
  EXPECT_TRUE(open_checkpoint(path("b.pt")).sizes.bias);
  renamed({{"transformer.ln_f.bias", "transformer.ln_f.beta"}});
  expect_error("b.pt", {"b.pt", "no tensor 'transformer.ln_f.beta'", "model.py"});
  renamed({{"lm_head.weight", "lm_tail.weight"}});
  expect_error("b.pt", {"no tensor 'lm_tail.weight'"});
  renamed({{"transformer.wte.weight", "transformer.wxe.weight"},
           {"transformer.wpe.weight", "transformer.wte.weight"}});
  expect_error("b.pt", {"b.pt", "lm_head.weight is not tied"});
}

TEST_F(BadFile, ATensorBeyondItsStorage) {
  for (const std::int64_t offset :
       {std::int64_t{0}, std::int64_t{2}, std::int64_t{-1}, std::int64_t{1} << 62}) {
    pickle::PickleWriter pickle;
    pickle.begin_dict();
    pickle.text("model_args");
    pickle.begin_dict();
    for (const char* key : {"n_layer", "n_head", "n_embd", "block_size", "vocab_size"}) {
      pickle.text(key);
      pickle.integer(1);
    }
    pickle.text("bias");
    pickle.boolean(false);
    pickle.end_dict();
    pickle.text("model");
    pickle.begin_dict();
    pickle.text("transformer.wte.weight");
    pickle.global("torch._utils", "_rebuild_tensor_v2");
    pickle.begin_tuple();
    pickle.begin_tuple();
    pickle.text("storage");
    pickle.global("torch", "FloatStorage");
    pickle.text("0");
    pickle.text("cpu");
    pickle.integer(1 << 30);
    pickle.end_tuple();
    pickle.persistent_id();
    pickle.integer(offset);
    for (int i = 0; i < 2; ++i) {
      pickle.begin_tuple();
      pickle.integer(offset == 0 ? std::int64_t{1} << 40 : 1);
      pickle.integer(1);
      pickle.end_tuple();
    }
    pickle.boolean(false);
    pickle.none();
    pickle.end_tuple();
    pickle.reduce();
    pickle.end_dict();
    pickle.end_dict();
    write_pickle("far.pt", pickle);
    expect_error("far.pt", {"far.pt", "transformer.wte.weight"});
  }
}

TEST_F(BadFile, WrongShapesAreToldByName) {
  Source source = random_source(true, false);
  source.tensors["transformer.h.1.mlp.c_fc.weight"].shape = {32, 7};
  EXPECT_THROW(
      {
        try {
          check_complete(source);
        } catch (const DataError& error) {
          const std::string text = error.what();
          EXPECT_NE(text.find("transformer.h.1.mlp.c_fc.weight"), text.npos) << text;
          EXPECT_NE(text.find("wanted (32, 8), had (32, 7)"), text.npos) << text;
          throw;
        }
      },
      DataError);
  source.tensors.erase("transformer.ln_f.bias");
  source.tensors["transformer.h.1.mlp.c_fc.weight"].shape = {32, 8};
  EXPECT_THROW(check_complete(source), DataError);
}

TEST_F(BadFile, HeadersThatClaimGigabytes) {
  write_model("llmc", "a.bin");
  std::string bytes = content("a.bin");
  for (const std::size_t field : {2, 3, 4, 5, 6, 7}) {
    for (const std::int32_t claim : {0, -1, 1 << 30, 65536}) {
      std::string changed = bytes;
      std::memcpy(changed.data() + 4 * field, &claim, sizeof claim);
      write("b.bin", changed);
      EXPECT_NE(error_of("b.bin"), "") << field << " " << claim;
    }
  }
}

TEST_F(BadFile, FoldersOfOtherModels) {
  write_model("huggingface", "model");
  const std::string config = content("model/config.json");
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = config;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, text.npos) << from;
    text.replace(at, from.size(), to);
    write("model/config.json", text);
  };
  changed("\"gpt2\"", "\"llama\"");
  expect_error("model", {"config.json", "model_type", "llama"});
  changed("\"gelu\"", "\"relu\"");
  expect_error("model", {"activation_function", "relu"});
  changed("\"n_layer\": 2", "\"n_layer\": 1");
  expect_error("model", {"1 layers", "no tensor 'h.1.", "adapters"});
  changed("\"n_layer\": 2", "\"n_layer\": 3");
  expect_error("model", {"transformer.h.2.", "3 layers"});
  changed("\"n_embd\": 8", "\"n_embd\": 16");
  expect_error("model", {"wanted (11, 16), had (11, 8)"});
  write("model/config.json", config.substr(0, 40));
  expect_error("model", {"config.json", "not JSON"});
  write("model/config.json", config);
  std::filesystem::remove(path("model/model.safetensors"));
  expect_error("model", {"no weights", "model.safetensors"});
}

TEST_F(BadFile, WhatADownloadLeftOut) {
  const std::string pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 9\n";
  write_model("huggingface", "model");
  write("model/model.safetensors", pointer);
  expect_error("model", {"model.safetensors", "Git LFS", "git lfs pull"});
  std::filesystem::remove(path("model/model.safetensors"));
  write("model/model.safetensors.index.json",
        R"({"weight_map": {"wte.weight": "model-00001-of-00002.safetensors"}})");
  expect_error("model", {"model-00001-of-00002.safetensors is missing", "index.json", "download"});
  std::filesystem::create_directory(path("out"));
  write("out/ckpt.pt", pointer);
  expect_error("out", {"ckpt.pt", "Git LFS"});
}

TEST_F(BadFile, SomethingElse) {
  write("notes.txt", "hello");
  expect_error("notes.txt", {"notes.txt", "no checkpoint", "ckpt.pt"});
  expect_error("nowhere", {"nowhere", "no "});
  write_model("huggingface", "model");
  expect_error("model/model.safetensors", {"weights alone", "name its folder", "/model,"});
  expect_error("model/config.json", {"a part of a checkpoint", "name its folder", "/model"});
}

TEST_F(BadFile, WeightsInsideOfSomethingElse) {
  write_model("huggingface", "model");
  std::filesystem::remove(path("model/model.safetensors"));
  pickle::PickleWriter pickle;
  pickle.begin_dict();
  pickle.text("state_dict");
  pickle.begin_dict();
  pickle.end_dict();
  pickle.end_dict();
  write_pickle("model/pytorch_model.bin", pickle);
  expect_error("model", {"pytorch_model.bin holds a dict under 'state_dict'", "['state_dict']"});
}

}  // namespace
}  // namespace snug::formats
