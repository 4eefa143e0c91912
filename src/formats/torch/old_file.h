// What torch.save wrote before PyTorch 1.6, and still can, in any of the pickle protocols 2 to 5:
// GPT-2's first pytorch_model.bin is one.
// Three pickles (a magic number, a version, the machine), the value, the keys of its storages; then
// the storages one after the other, each with its element count before it.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <unordered_map>

#include "formats/byte_source.h"
#include "pickle/reader.h"

namespace snug::formats::torch {

bool is_before_zip(const std::filesystem::path& path);

struct OldContent {
  pickle::PickleDocument document;
  std::unordered_map<std::string, std::unique_ptr<ByteSource>> storages;  // parts of the file
};

// Throws DataError for what is damaged, cut off or big-endian. The file must outlive the result.
OldContent read_old_content(const FileBytes& file);

}  // namespace snug::formats::torch
