// The tokenizer's files of a Hugging Face folder, from what a checkpoint carries.
#pragma once

#include "formats/source.h"

namespace snug::formats::huggingface {

// Writes none yet. The result is the id of the end-of-text token, -1 where there is none.
std::int64_t write_tokenizer_files(const Source& source, const checkpoint::Path& folder);

}  // namespace snug::formats::huggingface
