// The tokenizer inside a GGUF file.
#pragma once

#include "formats/gguf/metadata.h"
#include "formats/source.h"

namespace snug::formats::gguf {

// GPT-2's tokens and merges; characters as tokens of the same kind of tokenizer, with the merges
// that make a character of its bytes; and for a tokenizer that the source does not know, that there
// is none: llama.cpp then takes and gives ids only.
void add_vocabulary(const Source& source, GgufMetadata& metadata);

}  // namespace snug::formats::gguf
