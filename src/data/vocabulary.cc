#include "data/vocabulary.h"

#include <filesystem>

namespace snug::data {

std::string dataset_folder(const config::Config& config) {
  const std::filesystem::path name = config.dataset;
  return name.is_absolute() ? config.dataset : "data/" + config.dataset;
}

Vocabulary find_vocabulary(const config::Config& config) {
  const std::string folder = dataset_folder(config);
  Vocabulary vocabulary;
  vocabulary.meta = read_meta(folder);
  if (config.vocab_size > 0) {
    vocabulary.size = config.vocab_size;
    vocabulary.origin = "vocab_size";
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
