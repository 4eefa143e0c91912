// The tokenizer inside a GGUF file.
#pragma once

#include "formats/gguf/metadata.h"
#include "formats/source.h"

namespace snug::formats::gguf {

// Says that there is none: llama.cpp then takes and gives ids only.
void add_vocabulary(const Source& source, GgufMetadata& metadata);

}  // namespace snug::formats::gguf
