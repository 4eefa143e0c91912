#include "data/vocabulary.h"

#include "config/pretrained.h"

namespace snug {

std::string dataset_folder(const Config& config) { return "data/" + config.dataset; }

Vocabulary find_vocabulary(const Config& config) {
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
    vocabulary.size = kPaddedGpt2Vocabulary;
    vocabulary.origin = "GPT-2's, as " + folder + " has no meta.pkl";
  }
  return vocabulary;
}

}  // namespace snug
