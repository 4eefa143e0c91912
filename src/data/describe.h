// What is in a data set, for a person to look at before training on it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "data/meta.h"

namespace snug::data {

struct SideDescription {
  std::string side;  // "train", "val"
  std::vector<std::string> files;
  std::int64_t byte_count = 0, token_count = 0;
  std::int64_t largest_id = 0;
  std::int64_t different_ids = 0;
  std::int64_t end_of_text_count = 0;  // GPT-2's; 0 for characters
  std::int64_t outside_count = 0;      // ids that the vocabulary does not have
  std::int64_t first_outside = -1;     // position of the first
  bool wide_ids = false;               // see wide_ids.h; never for characters
  std::vector<std::int32_t> first_ids;
};

struct DatasetDescription {
  std::optional<Meta> meta;  // of characters; without it the tokens are GPT-2's
  std::int64_t vocab_size = 0;
  std::vector<SideDescription> sides;
};

// Called with the share of tokens looked at.
using DescribeProgress = std::function<void(double share)>;

// Reads every token once, in constant memory. Throws DataError for a folder that holds no data set
// and for a damaged one.
DatasetDescription describe_dataset(const std::filesystem::path& folder,
                                    const DescribeProgress& progress = {});

// The text of the first tokens of a side, as far as they are in the vocabulary; it ends with a
// whole character where the data goes on.
std::string sample_text(const DatasetDescription& dataset, const SideDescription& side);

}  // namespace snug::data
