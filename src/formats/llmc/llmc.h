// llm.c's model files, in and out: version 3 in float32, version 5 in bfloat16. They hold weights
// only. Format: docs/formats.md.
#pragma once

#include "formats/format.h"

namespace snug::formats::llmc {

bool is_llmc(const checkpoint::Path& path);
Source open_llmc(const checkpoint::Path& path);
// In options.dtype, float32 or bfloat16. Biases that the model does not have become zeros.
void write_llmc(const Source& source, const checkpoint::Path& to, const WriteOptions& options);

}  // namespace snug::formats::llmc
