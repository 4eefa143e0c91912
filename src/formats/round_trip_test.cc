// Models through the formats and back: bit for bit where the format keeps float32.
#include <gtest/gtest.h>

#include <fstream>

#include "base/error.h"
#include "base/temporary_folder.h"
#include "formats/float_bits.h"
#include "formats/format.h"
#include "formats/formats_testing.h"
#include "formats/huggingface/huggingface.h"
#include "formats/nanogpt/nanogpt.h"
#include "formats/own/own.h"

namespace snug::formats {
namespace {

class RoundTrip : public ::testing::TestWithParam<bool> {
 protected:
  Source through(const char* format, const Source& source, const WriteOptions& options = {}) {
    const checkpoint::Path path = folder_.path() / std::to_string(count_++);
    find_format(format)->write(source, path, options);
    return open_checkpoint(path);
  }

  TemporaryFolder folder_;
  int count_ = 0;
};

TEST_P(RoundTrip, NanoGptKeepsWeightsMomentsAndWhereTheRunStood) {
  const Source source = random_source(GetParam(), true);
  const Source back = through("nanogpt", source);
  EXPECT_EQ(back.format, "nanogpt");
  EXPECT_TRUE(back.has_optimizer);
  EXPECT_TRUE(same_weights(source, back));
  EXPECT_EQ(back.state.iteration, 7);
  EXPECT_EQ(back.state.best_val_loss, 2.5);
  EXPECT_TRUE(back.notices.empty()) << back.notices.front();
}

TEST_P(RoundTrip, OwnKeepsEverything) {
  const Source source = random_source(GetParam(), true);
  const Source back = through("snug", source);
  EXPECT_EQ(back.format, "snug");
  EXPECT_TRUE(back.has_optimizer);
  EXPECT_TRUE(same_weights(source, back));
  EXPECT_EQ(back.state.iteration, 7);
}

TEST_P(RoundTrip, HuggingFaceKeepsWeightsAndTheFormOfGelu) {
  for (const char* gelu : {"erf", "tanh"}) {
    Source source = random_source(GetParam(), false);
    source.sizes.gelu = gelu;
    const Source back = through("huggingface", source);
    EXPECT_EQ(back.format, "huggingface");
    EXPECT_EQ(back.sizes.gelu, gelu);
    EXPECT_TRUE(same_weights(source, back));
  }
}

TEST_P(RoundTrip, OfManyStationsIsBitEqual) {
  const Source source = random_source(GetParam(), true);
  const Source nano = through("nanogpt", source);
  const Source own = through("snug", nano);
  const Source face = through("huggingface", own);
  const Source again = through("snug", face);
  Source last = through("nanogpt", again);
  last.has_optimizer = false;  // the moments stayed behind at Hugging Face's: they are zeros
  EXPECT_TRUE(same_weights(source, last));
}

TEST(RoundTripTest, LlmcKeepsWeightsInFloat32AndRoundsInBfloat16) {
  const TemporaryFolder folder;
  Source source = random_source(true, false);
  source.sizes.gelu = "tanh";
  find_format("llmc")->write(source, folder.path("a.bin"), {});
  EXPECT_TRUE(same_weights(source, open_checkpoint(folder.path("a.bin"))));
  find_format("llmc")->write(source, folder.path("b.bin"), {.dtype = DType::kBF16});
  const Source rounded = open_checkpoint(folder.path("b.bin"));
  for (const auto& [name, tensor] : source.tensors) {
    const std::vector<float> exact = read_whole(source, name), found = read_whole(rounded, name);
    for (std::size_t i = 0; i < exact.size(); ++i) {
      EXPECT_EQ(found[i], from_bfloat16(to_bfloat16(exact[i]))) << name << i;
    }
  }
}

// What the format cannot leave out is written as zeros.
TEST(RoundTripTest, LlmcWritesAbsentBiasesAsZeros) {
  const TemporaryFolder folder;
  find_format("llmc")->write(random_source(false, false), folder.path("a.bin"), {});
  const Source back = open_checkpoint(folder.path("a.bin"));
  EXPECT_TRUE(back.sizes.bias);
  for (const float value : read_whole(back, "transformer.h.1.mlp.c_fc.bias")) EXPECT_EQ(value, 0);
}

INSTANTIATE_TEST_SUITE_P(Biases, RoundTrip, ::testing::Bool(),
                         [](const auto& bias) { return bias.param ? "with" : "without"; });

TEST(Writing, NeverOverwrites) {
  const TemporaryFolder folder;
  std::ofstream(folder.path("there.pt")) << "mine";
  for (const Format& format : all_formats()) {
    EXPECT_THROW(format.write(random_source(true, false), folder.path("there.pt"), {}),
                 ConfigError);
  }
  EXPECT_EQ(std::filesystem::file_size(folder.path("there.pt")), 4U);
}

// A source that fails in the middle leaves no file, and no part of one.
TEST(Writing, LeavesNothingBehindWhenItFails) {
  class Failing : public ByteSource {
   public:
    void read(std::int64_t, std::span<std::byte>) const override { throw DataError("torn"); }
    std::int64_t byte_count() const override { return 1 << 20; }
  };
  const TemporaryFolder folder;
  Source source = random_source(true, false);
  const Failing failing;
  source.tensors["transformer.ln_f.bias"].bytes = &failing;
  for (const Format& format : all_formats()) {
    EXPECT_THROW(format.write(source, folder.path("out"), {}), DataError) << format.name;
    EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << format.name;
  }
}

TEST(Writing, FormatByTheNamesForm) {
  const Source own = random_source(true, false);
  Source foreign = random_source(true, false);
  foreign.format = "nanogpt";
  EXPECT_EQ(format_to_write(own, "a.pt", "").name, "nanogpt");
  EXPECT_EQ(format_to_write(own, "a.bin", "").name, "llmc");
  EXPECT_EQ(format_to_write(own, "a.gguf", "").name, "gguf");
  EXPECT_EQ(format_to_write(own, "folder", "").name, "huggingface");
  EXPECT_EQ(format_to_write(foreign, "folder", "").name, "snug");
  EXPECT_EQ(format_to_write(foreign, "folder", "huggingface").name, "huggingface");
  EXPECT_THROW(format_to_write(own, "a.onnx", ""), ConfigError);
  EXPECT_THROW(format_to_write(own, "a", "onnx"), ConfigError);
}

}  // namespace
}  // namespace snug::formats
