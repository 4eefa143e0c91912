#include "formats/gguf/vocabulary.h"

namespace snug::formats::gguf {

void add_vocabulary(const Source&, GgufMetadata& metadata) {
  metadata.text("tokenizer.ggml.model", "none");
}

}  // namespace snug::formats::gguf
