// The tensors of a Hugging Face folder, from whichever files hold them: model.safetensors, shards
// of it, pytorch_model.bin, shards of that.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/file_system.h"
#include "formats/stored_tensor.h"

namespace snug::formats::huggingface {

struct WeightFiles {
  // Floating-point ones only, by the name in the file: without a wrapper's prefix, and as weight
  // and bias where an old file has gamma and beta.
  std::map<std::string, StoredTensor> tensors;
  std::map<std::string, std::string> others;  // the dtypes of the rest: masks, or quantized weights
  std::vector<std::unique_ptr<OpenFile>> files;
};

// The files that the index of a sharded model names: names within its folder. Throws DataError.
std::set<std::string> parse_shard_index(std::string_view text, const std::string& name);

bool has_weight_files(const checkpoint::Path& folder);

// Throws DataError when there are no such files, or they are damaged.
WeightFiles open_weight_files(const checkpoint::Path& folder);

}  // namespace snug::formats::huggingface
