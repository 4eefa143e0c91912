// A run that starts from another program's model: OpenAI's weights out of the local cache, a
// Hugging Face folder, a model.bin, a ckpt.pt. What such a file decides about the config, and its
// checks.
#pragma once

#include <optional>
#include <string>

#include "config/config.h"
#include "data/vocabulary.h"
#include "formats/source.h"

namespace snug::train {

// True when init_from names a model instead of 'scratch' or 'resume'.
bool starts_from_model(const config::Config& config);

// Where init_from's model lies: a path, or a downloaded model of that name. Throws DataError that
// says how to get it.
std::string locate_model(const std::string& name);

// Opens init_from's model and takes the keys that make it into `config`, saying in its notices what
// that changes. As in nanoGPT, dropout stays the config's, and a smaller block_size crops the
// positions.
formats::Source take_starting_model(config::LoadedConfig& config);

// Throws DataError when the data set's characters cannot be those of the model.
void require_same_vocabulary(const formats::Source& source, const data::Vocabulary& vocabulary,
                             const config::Config& config);

}  // namespace snug::train
