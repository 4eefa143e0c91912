#include "checkpoint/manifest.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "checkpoint/checkpoint_testing.h"

namespace snug::checkpoint {
namespace {

Manifest sample() {
  Manifest manifest;
  manifest.state = testing::state_at(250);
  manifest.save_number = 3;
  manifest.model_file = {1000, 0x0123456789abcdef};
  manifest.optimizer_file = {2000, 0xffffffffffffffff};
  manifest.weights = {{"wte.weight", "F32", {50304, 768}}, {"step", "I32", {}}};
  manifest.optimizer = {{"exp_avg.wte.weight", "F32", {50304, 768}}};
  return manifest;
}

// The sample's document with one change, under a checksum that fits it.
std::string changed(const std::string& pointer, const nlohmann::json& value) {
  auto document = nlohmann::json::parse(to_json(sample()));
  document.erase("checksum");
  document[nlohmann::json::json_pointer(pointer)] = value;
  Checksum checksum;
  checksum.update(document.dump());
  document["checksum"] = to_hex(checksum.value());
  return document.dump();
}

std::string refusal(const std::string& text) {
  try {
    parse_manifest(text, "out/step-000250/state.json");
    return "";
  } catch (const DataError& error) {
    EXPECT_TRUE(std::string(error.what()).starts_with("out/step-000250/state.json: "));
    return error.what();
  }
}

TEST(Manifest, ComesBackAsItWas) {
  const Manifest saved = sample();
  const Manifest read = parse_manifest(to_json(saved), "state.json");
  EXPECT_EQ(read.state.iteration, 250);
  EXPECT_EQ(read.state.best_val_loss, 1.0 / 3.0);
  EXPECT_EQ(read.state.seed, 0xfedcba9876543210);
  EXPECT_EQ(read.state.sequences_drawn, 250 * 480);
  EXPECT_EQ(read.state.config_json, saved.state.config_json);
  EXPECT_EQ(read.state.fit_texts, saved.state.fit_texts);
  EXPECT_EQ(read.state.fits_json, saved.state.fits_json);
  EXPECT_EQ(read.state.records, saved.state.records);
  EXPECT_EQ(read.save_number, 3);
  EXPECT_EQ(read.model_file, saved.model_file);
  EXPECT_EQ(read.optimizer_file, saved.optimizer_file);
  EXPECT_EQ(read.weights, saved.weights);
  EXPECT_EQ(read.optimizer, saved.optimizer);
}

TEST(Manifest, ALossThatIsNotFiniteComesBackInfinite) {
  for (const double loss : {INFINITY, -INFINITY, NAN}) {
    Manifest manifest = sample();
    manifest.state.best_val_loss = loss;
    EXPECT_EQ(parse_manifest(to_json(manifest), "f").state.best_val_loss, INFINITY);
  }
}

TEST(Manifest, AConfigThatIsNoObjectIsOurBug) {
  for (const char* config : {"", "[]", "{", "3"}) {
    Manifest manifest = sample();
    manifest.state.config_json = config;
    EXPECT_THROW(to_json(manifest), InternalError) << config;
  }
}

TEST(Manifest, FitsThatAreNoListAreOurBug) {
  for (const char* fits : {"", "{}", "[", "3"}) {
    Manifest manifest = sample();
    manifest.state.fits_json = fits;
    EXPECT_THROW(to_json(manifest), InternalError) << fits;
  }
}

// The form of an older Snug, which kept only texts.
TEST(Manifest, ReadsAStateWithoutFits) {
  auto document = nlohmann::json::parse(to_json(sample()));
  document.erase("checksum");
  document.erase("fits");
  Checksum checksum;
  checksum.update(document.dump());
  document["checksum"] = to_hex(checksum.value());
  const TrainingState state = parse_manifest(document.dump(), "state.json").state;
  EXPECT_EQ(state.fits_json, "[]");
  EXPECT_EQ(state.fit_texts, sample().state.fit_texts);
}

TEST(Manifest, RecordsThatAreNotKnownAreNotWritten) {
  Manifest manifest = sample();
  manifest.state.records = {};
  const std::string text = to_json(manifest);
  for (const char* key : {"tokenizer", "data_files", "arithmetic"}) {
    EXPECT_EQ(text.find(fmt::format("\"{}\"", key)), std::string::npos);
  }
  EXPECT_EQ(parse_manifest(text, "f").state.records, RunRecords());
  manifest.state.records.tokenizer = {kGpt2Tokenizer, {}};
  EXPECT_EQ(parse_manifest(to_json(manifest), "f").state.records, manifest.state.records);
  manifest.state.records.tokenizer = {kCharTokenizer, {"\xff"}};
  EXPECT_THROW(to_json(manifest), InternalError);
}

TEST(Manifest, EveryFlippedBitAndEveryCutIsNoticed) {
  const std::string good = to_json(sample());
  for (std::size_t at = 0; at + 2 < good.size(); ++at) {
    EXPECT_NE(refusal(good.substr(0, at)), "") << at;
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ (1 << (at % 8)));
    EXPECT_NE(refusal(bad), "") << at << bad[at];
  }
}

TEST(Manifest, RefusesWhatDoesNotMakeSense) {
  EXPECT_EQ(refusal(changed("/a_field_of_later", 1)), "");
  const std::vector<std::tuple<std::string, nlohmann::json, std::string>> cases = {
      {"/format", "another", "is not the state of a Snug checkpoint"},
      {"/version", 2, "version 2"},
      {"/version", -1, "\"version\" is not"},
      {"/iteration", -1, "\"iteration\" is not"},
      {"/iteration", 0.5, "\"iteration\" is not"},
      {"/iteration", UINT64_MAX, "beyond all bounds"},
      {"/save_number", INT64_MAX, "beyond all bounds"},
      {"/best_val_loss", "low", "\"best_val_loss\" is not"},
      {"/seed", -5, "\"seed\" is not"},
      {"/config", nlohmann::json::array(), "\"config\" is not"},
      {"/fit_changes", 1, "\"fit_changes\" is not a list"},
      {"/fit_changes", {1}, "\"fit_changes\" is not text"},
      {"/fits", 1, "\"fits\" is not a list"},
      {"/fits", {1}, "\"fits\" is not a list of objects"},
      {"/tokenizer", 1, "\"tokenizer\" is not an object"},
      {"/tokenizer/kind", 1, "\"kind\" is not text"},
      {"/tokenizer/characters", "ab", "\"characters\" is not a list"},
      {"/tokenizer/characters", {"a", 1}, "\"characters\" is not a list of texts"},
      {"/tokenizer/characters", {"a", "a"}, "\"characters\" has one twice"},
      {"/tokenizer/characters", nlohmann::json::array(), "\"characters\" is empty"},
      {"/data_files", 1, "\"data_files\" is not a list"},
      {"/data_files/0", 1, "\"data_files\" is not a list of objects"},
      {"/data_files/0/bytes", -1, "\"bytes\" is not"},
      {"/data_files/0/xxh3_64", "zz", "\"xxh3_64\" is not"},
      {"/arithmetic", "fast", "\"arithmetic\" is not an object"},
      {"/arithmetic/threads", 0.5, "\"threads\" is not"},
      {"/model_file", 1, "where an object belongs"},
      {"/model_file/bytes", -1, "\"bytes\" is not"},
      {"/model_file/xxh3_64", "0x12", "\"xxh3_64\" is not"},
      {"/weights", nullptr, "\"weights\" is not a list"},
      {"/weights/0", 7, "where an object belongs"},
      {"/weights/0/name", "step", "lists tensor 'step' twice"},
      {"/weights/0/dtype", "F31", "unknown dtype"},
      {"/weights/0/shape", {1, 1, 1, 1, 1}, "too many dimensions"},
      {"/weights/0/shape/0", -1, "\"shape\" is not"},
  };
  for (const auto& [pointer, value, reason] : cases) {
    const std::string found = refusal(changed(pointer, value));
    EXPECT_NE(found.find(reason), std::string::npos)
        << pointer << " = " << value << "\nwanted: " << reason << "\nfound: " << found;
  }
  EXPECT_NE(refusal("[]").find("where an object belongs"), std::string::npos);
  EXPECT_NE(refusal(std::string(1 << 20, '[')).find("nested too deep"), std::string::npos);
  EXPECT_NE(refusal(std::string(5 << 20, ' ')).find("longer than"), std::string::npos);
  EXPECT_NE(refusal(R"({"format":1e999})"), "");
}

}  // namespace
}  // namespace snug::checkpoint
