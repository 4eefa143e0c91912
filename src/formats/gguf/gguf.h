// GGUF, llama.cpp's format, out: architecture gpt2 in version 3, with the tokenizer
// inside. Format: docs/formats.md.
#pragma once

#include "formats/format.h"

namespace snug::formats::gguf {

// Matrices in options.dtype, float32, bfloat16 or float16; what has one dimension, and the
// positions, stay in float32, as llama.cpp's own converter leaves them.
void write_gguf(const Source& source, const checkpoint::Path& to, const WriteOptions& options);

}  // namespace snug::formats::gguf
