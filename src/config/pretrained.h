// Values that resolve() gives to keys: how they are remembered, and the sizes that init_from =
// 'gpt2*' stands for.
#pragma once

#include "config/config.h"
#include "config/fields.h"

namespace snug::config {

// True while the field still has the value that resolve() gave it.
bool is_derived(const LoadedConfig& config, const Field& field);
void set_derived(LoadedConfig& config, const Field& field, const Value& value);

// Sets the shape of OpenAI's model when init_from names one. A block_size below 1024 stays: the
// positions are cropped, as in nanoGPT.
void apply_pretrained(LoadedConfig& config);

}  // namespace snug::config
