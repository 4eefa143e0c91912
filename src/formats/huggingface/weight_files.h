// The tensors of a Hugging Face folder, from whichever files hold them: model.safetensors, shards
// of it, pytorch_model.bin, shards of that.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "checkpoint/file_system.h"
#include "formats/stored_tensor.h"

namespace snug::formats::huggingface {

struct WeightFiles {
  std::map<std::string, StoredTensor> tensors;  // by the name in the file; floating-point ones only
  std::vector<std::unique_ptr<OpenFile>> files;
};

// Throws DataError when there are no such files, or they are damaged.
WeightFiles open_weight_files(const checkpoint::Path& folder);

}  // namespace snug::formats::huggingface
