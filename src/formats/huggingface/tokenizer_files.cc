#include "formats/huggingface/tokenizer_files.h"

namespace snug::formats::huggingface {

std::int64_t write_tokenizer_files(const Source&, const checkpoint::Path&) { return -1; }

}  // namespace snug::formats::huggingface
