#include "data/vocabulary.h"

#include <fmt/format.h>

#include <filesystem>

namespace snug::data {

std::string dataset_folder(const config::Config& config) {
  const std::filesystem::path name = config.dataset;
  return name.is_absolute() ? config.dataset : "data/" + config.dataset;
}

static constexpr std::string_view kVocabSizeKey = "vocab_size";

// Who has set vocab_size.
static std::string origin_of_size(const config::LoadedConfig& config) {
  const auto origin = config.origins.find(kVocabSizeKey);
  const bool saved =
      origin != config.origins.end() && origin->second.kind == config::Origin::Kind::kCheckpoint;
  if (saved && config.values.init_from == "resume") return "the checkpoint's";
  if (saved || config.derived.contains(kVocabSizeKey)) {
    return fmt::format("the model's, init_from = '{}'", config.values.init_from);
  }
  return std::string(kVocabSizeKey);
}

Vocabulary find_vocabulary(const config::LoadedConfig& config) {
  const std::string folder = dataset_folder(config.values);
  Vocabulary vocabulary;
  vocabulary.meta = read_meta(folder);
  vocabulary.is_stated = vocabulary.meta.has_value();
  if (config.values.vocab_size > 0) {
    vocabulary.size = config.values.vocab_size;
    vocabulary.origin = origin_of_size(config);
    vocabulary.is_stated |= vocabulary.origin == kVocabSizeKey;
  } else if (vocabulary.meta) {
    vocabulary.size = vocabulary.meta->vocab_size;
    vocabulary.origin = folder + "/meta.pkl";
  } else {
    vocabulary.size = config::kPaddedGpt2Vocabulary;
    vocabulary.origin = "GPT-2's, as " + folder + " has no meta.pkl";
  }
  return vocabulary;
}

}  // namespace snug::data
