// The vocabulary of a run: how many tokens there are, and how that is known.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "config/config.h"
#include "data/meta.h"

namespace snug::data {

struct Vocabulary {
  std::int64_t size = 0;
  // "data/x/meta.pkl", "vocab_size", "the model's, init_from = 'gpt2'", "the checkpoint's",
  // "GPT-2's, as data/x has no meta.pkl"
  std::string origin;
  std::optional<Meta> meta;  // of the data set, where there is one
  bool is_stated = false;    // by meta.pkl or the key vocab_size; else the ids should be GPT-2's
};

// data/<dataset>, or the dataset itself where it is an absolute path.
std::string dataset_folder(const config::Config& config);

// Throws DataError when the data set's meta.pkl is there but damaged.
Vocabulary find_vocabulary(const config::LoadedConfig& config);

}  // namespace snug::data
