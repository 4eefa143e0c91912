// OpenAI's models, which init_from can name.
#pragma once

#include <string_view>

#include "config/config.h"

namespace snug::config {

// "gpt2", "gpt2-medium", ...; not a path that begins so.
bool is_pretrained(std::string_view init_from);

// Sets the shape of OpenAI's model when init_from names one. A block_size below 1024 stays: the
// positions are cropped, as in nanoGPT.
void apply_pretrained(LoadedConfig& config);

}  // namespace snug::config
