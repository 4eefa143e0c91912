// The shards of a data set (fineweb_train_000001.bin, ...) as one row of tokens: a sequence may
// begin in one and end in the next.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "data/token_file.h"
#include "data/token_source.h"

namespace snug::data {

// Files of `folder` named *_SIDE_*.bin (FineWeb's) or *_SIDE.bin (llm.c's
// tiny_shakespeare_train.bin), in the order of their names.
std::vector<std::filesystem::path> find_shards(const std::filesystem::path& folder,
                                               const std::string& side);

class TokenShards : public TokenSource {
 public:
  // Throws DataError for a file that is no token file, and when all together are too short.
  TokenShards(const std::vector<std::filesystem::path>& paths, const TokenFileNeeds& needs);

  std::int64_t token_count() const noexcept override { return starts_.back(); }
  const std::string& name() const noexcept override { return name_; }
  std::vector<std::string> files() const override;
  bool has_header() const noexcept override { return shards_.front()->has_header(); }
  void read(std::int64_t first, std::span<std::int32_t> out) const override;
  bool check_all_ids() const override;

 private:
  std::vector<std::unique_ptr<TokenFile>> shards_;
  std::vector<std::int64_t> starts_{0};  // of each shard's first token; last, the number of all
  std::string name_;
};

}  // namespace snug::data
