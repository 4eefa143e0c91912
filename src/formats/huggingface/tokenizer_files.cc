#include "formats/huggingface/tokenizer_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "base/input_file.h"
#include "base/utf8.h"
#include "formats/publish.h"
#include "tokenizer/gpt2_vocabulary.h"

namespace snug::formats::huggingface {
namespace {

using Json = nlohmann::ordered_json;
using tokenizer::Gpt2Vocabulary;

// GPT-2's has 1.3 to 3.5 MB; what is much larger is another's, and need not be parsed.
constexpr std::int64_t kMaxTokenizerBytes = 8 * kMiB;
constexpr std::int64_t kMaxMergesBytes = 4 * kMiB;

std::string text_of(const Json& json) { return json.dump(2) + "\n"; }

Json byte_level(bool add_prefix_space, bool trim_offsets) {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", add_prefix_space},
          {"trim_offsets", trim_offsets},
          {"use_regex", true}};
}

Json bpe_model(Json vocabulary, Json merges) {
  return {{"type", "BPE"},
          {"dropout", nullptr},
          {"unk_token", nullptr},
          {"continuing_subword_prefix", ""},
          {"end_of_word_suffix", ""},
          {"fuse_unk", false},
          {"byte_fallback", false},
          {"vocab", std::move(vocabulary)},
          {"merges", std::move(merges)}};
}

Json gpt2_vocabulary() {
  const Gpt2Vocabulary gpt2;
  Json vocabulary = Json::object();
  auto& items = vocabulary.get_ref<Json::object_t&>();
  items.reserve(Gpt2Vocabulary::kSize);  // and no search for each key, which all differ
  for (std::int32_t id = 0; id < Gpt2Vocabulary::kSize; ++id) {
    items.Container::emplace_back(gpt2.printable(id), id);
  }
  return vocabulary;
}

void write_gpt2(const Source& source, const checkpoint::Path& folder) {
  const std::string end(Gpt2Vocabulary::kEndOfTextText);
  const Json vocabulary = gpt2_vocabulary();
  write_text(folder / "vocab.json", vocabulary.dump());
  write_text(folder / "merges.txt", Gpt2Vocabulary::merges_text());
  const Json special = {{"id", Gpt2Vocabulary::kEndOfText},
                        {"content", end},
                        {"single_word", false},
                        {"lstrip", false},
                        {"rstrip", false},
                        {"normalized", false},
                        {"special", true}};
  const Json whole = {{"version", "1.0"},
                      {"truncation", nullptr},
                      {"padding", nullptr},
                      {"added_tokens", Json::array({special})},
                      {"normalizer", nullptr},
                      {"pre_tokenizer", byte_level(false, true)},
                      {"post_processor", byte_level(true, false)},
                      {"decoder", byte_level(true, true)},
                      {"model", bpe_model(vocabulary, Gpt2Vocabulary::merges())}};
  write_text(folder / "tokenizer.json", whole.dump());
  const Json names = {{"bos_token", end}, {"eos_token", end}, {"unk_token", end}};
  write_text(folder / "special_tokens_map.json", text_of(names));
  Json settings = {{"tokenizer_class", "GPT2Tokenizer"},
                   {"add_prefix_space", false},
                   {"clean_up_tokenization_spaces", false},
                   {"model_max_length", source.sizes.block_size}};
  settings.update(names);
  write_text(folder / "tokenizer_config.json", text_of(settings));
}

void write_characters(const Source& source, const checkpoint::Path& folder) {
  write_text(folder / "tokenizer.json",
             make_character_tokenizer(source.state.records.tokenizer.characters));
  write_text(folder / "tokenizer_config.json",
             text_of({{"tokenizer_class", "PreTrainedTokenizerFast"},
                      {"clean_up_tokenization_spaces", false},
                      {"model_max_length", source.sizes.block_size}}));
}

bool is_one_character(const std::string& text) {
  const Utf8Char first = decode_utf8(text);
  return first.length > 0 && static_cast<std::size_t>(first.length) == text.size();
}

// Without white space at the end, and without the line of the version, which some leave out.
std::string_view merges_alone(std::string_view text) {
  if (text.starts_with("#version")) text.remove_prefix(std::min(text.find('\n'), text.size()));
  const std::size_t first = text.find_first_not_of("\r\n"), last = text.find_last_not_of("\r\n");
  return first == text.npos ? "" : text.substr(first, last - first + 1);
}

// "a b", or since version 0.20 of Hugging Face's library ["a", "b"].
std::string pair_text(const nlohmann::json& pair) {
  if (pair.is_string()) return pair.get<std::string>();
  const bool is_list =
      pair.is_array() && pair.size() == 2 && pair[0].is_string() && pair[1].is_string();
  return is_list ? pair[0].get<std::string>() + " " + pair[1].get<std::string>() : "";
}

// GPT-2's own file names no type.
bool has_gpt2s_pairs(const nlohmann::json& model) {
  const nlohmann::json merges = model.value("merges", nlohmann::json());
  if (model.value("type", nlohmann::json("BPE")) != "BPE" || !merges.is_array()) return false;
  return std::ranges::equal(merges, Gpt2Vocabulary::merges(), {}, pair_text);
}

// By id; none unless every token is a character, and no id is left out.
std::vector<std::string> characters_of(const nlohmann::json& vocabulary) {
  std::vector<std::string> characters(vocabulary.size());
  for (const auto& [text, id] : vocabulary.items()) {
    const bool usable = id.is_number_unsigned() && id.get<std::uint64_t>() < characters.size() &&
                        is_one_character(text);
    if (!usable || !characters[id.get<std::size_t>()].empty()) return {};
    characters[id.get<std::size_t>()] = text;
  }
  return characters;
}

bool is_regular(const checkpoint::Path& file) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(file, ignored);
}

}  // namespace

std::string make_character_tokenizer(const std::vector<std::string>& characters) {
  Json vocabulary = Json::object();
  for (std::size_t id = 0; id < characters.size(); ++id) vocabulary[characters[id]] = id;
  // A model of pairs that knows none leaves every character alone.
  return text_of({{"version", "1.0"},
                  {"truncation", nullptr},
                  {"padding", nullptr},
                  {"added_tokens", Json::array()},
                  {"normalizer", nullptr},
                  {"pre_tokenizer", nullptr},
                  {"post_processor", nullptr},
                  {"decoder", {{"type", "Fuse"}}},
                  {"model", bpe_model(std::move(vocabulary), Json::array())}});
}

checkpoint::TokenizerRecord tokenizer_in(std::string_view tokenizer_json) {
  // Keys by search tree: GPT-2's vocabulary has 50,257.
  const auto json = nlohmann::json::parse(tokenizer_json, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("model") || !json.at("model").is_object()) return {};
  const nlohmann::json& model = json.at("model");
  const bool is_plain = model.value("type", nlohmann::json()) == "BPE" && model.contains("vocab") &&
                        model.at("vocab").is_object() &&
                        model.value("merges", nlohmann::json()) == nlohmann::json::array() &&
                        json.value("pre_tokenizer", nlohmann::json()).is_null() &&
                        json.value("normalizer", nlohmann::json()).is_null();
  if (!is_plain) {
    return has_gpt2s_pairs(model) ? checkpoint::TokenizerRecord{checkpoint::kGpt2Tokenizer, {}}
                                  : checkpoint::TokenizerRecord{};
  }
  std::vector<std::string> characters = characters_of(model.at("vocab"));
  if (characters.empty()) return {};
  return {checkpoint::kCharTokenizer, std::move(characters)};
}

std::int64_t write_tokenizer_files(const Source& source, const checkpoint::Path& folder) {
  const checkpoint::TokenizerRecord& record = source.state.records.tokenizer;
  if (record.kind == checkpoint::kGpt2Tokenizer) {
    write_gpt2(source, folder);
    return Gpt2Vocabulary::kEndOfText;
  }
  const bool by_character = record.kind == checkpoint::kCharTokenizer &&
                            std::ranges::all_of(record.characters, is_one_character);
  if (by_character) write_characters(source, folder);
  return -1;
}

checkpoint::TokenizerRecord tokenizer_of(const checkpoint::Path& folder, std::int64_t vocab_size) {
  const checkpoint::Path merges = folder / "merges.txt", whole = folder / "tokenizer.json";
  if (is_regular(merges)) {
    const bool is_gpt2 = merges_alone(read_whole_file(merges, kMaxMergesBytes)) ==
                         merges_alone(Gpt2Vocabulary::merges_text());
    return is_gpt2 ? gpt2_by_size(vocab_size) : checkpoint::TokenizerRecord{};
  }
  if (!is_regular(whole)) return gpt2_by_size(vocab_size);
  std::error_code ignored;
  if (std::filesystem::file_size(whole, ignored) > std::uintmax_t{kMaxTokenizerBytes}) return {};
  checkpoint::TokenizerRecord found = tokenizer_in(read_whole_file(whole, kMaxTokenizerBytes));
  if (found.kind == checkpoint::kGpt2Tokenizer) return gpt2_by_size(vocab_size);
  return std::ssize(found.characters) > vocab_size ? checkpoint::TokenizerRecord{} : found;
}

}  // namespace snug::formats::huggingface
