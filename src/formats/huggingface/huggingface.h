// Hugging Face GPT-2 folders, in and out: config.json and model.safetensors (or shards of it, or a
// pytorch_model.bin), and the tokenizer's files. Format: docs/formats.md.
#pragma once

#include <optional>
#include <vector>

#include "formats/format.h"

namespace snug::formats::huggingface {

bool is_huggingface(const checkpoint::Path& path);  // a folder with a config.json
Source open_huggingface(const checkpoint::Path& path);
void write_huggingface(const Source& source, const checkpoint::Path& to,
                       const WriteOptions& options);

// Where Hugging Face's programs keep what they download, by their environment variables; the
// folders need not exist.
std::vector<checkpoint::Path> download_caches();

// The folder of a downloaded model ("gpt2", "gpt2-medium", "openai-community/gpt2") in one of them;
// one without weights only if there is no other, nothing when it is not there.
std::optional<checkpoint::Path> find_downloaded(const std::string& model);

// Weights that the format keeps as (in, out), by the names of gpt2/spec.h.
bool is_conv1d(std::string_view parameter);

}  // namespace snug::formats::huggingface
