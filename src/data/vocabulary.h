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
  std::string origin;        // "data/x/meta.pkl", "vocab_size", "GPT-2, no meta.pkl in data/x"
  std::optional<Meta> meta;  // of the data set, where there is one
};

// data/<dataset>, or the dataset itself where it is an absolute path.
std::string dataset_folder(const config::Config& config);

// Throws DataError when the data set's meta.pkl is there but damaged.
Vocabulary find_vocabulary(const config::Config& config);

}  // namespace snug::data
