// The tokens of one side of a data set while it is made: one file, as nanoGPT has it, or shards
// with llm.c's header. An interrupted run's file is cut back to what its journal knows, and goes
// on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "prepare/options.h"

namespace snug::prepare {

struct TokenLayout {
  Format format = Format::kNanoGpt;
  std::int64_t shard_tokens = 0;  // of llm.c's
  std::string name;               // "train"; of shards "mine_train"
  int first_shard = 0;            // its number in the name
};

// A full disk, or one that fails. Its message leaves open whether the run can go on later.
class StagingError : public DeviceError {
 public:
  using DeviceError::DeviceError;
};

class StagedTokens {
 public:
  // Goes on after `kept_tokens` of what is in `folder`, 0 for a new one. Throws StagingError, as
  // all that follows.
  StagedTokens(std::filesystem::path folder, TokenLayout layout, std::int64_t kept_tokens);
  ~StagedTokens();
  StagedTokens(const StagedTokens&) = delete;
  StagedTokens& operator=(const StagedTokens&) = delete;

  void append(std::span<const std::uint16_t> tokens);
  std::int64_t token_count() const noexcept { return token_count_; }

  // What was appended is on the disk.
  void sync();
  // Completes the last file. Names of all, in order.
  std::vector<std::string> finish();

 private:
  std::string shard_name(std::int64_t shard) const;
  std::int64_t shard_of(std::int64_t token) const;
  std::int64_t header_bytes() const;
  void open_shard(std::int64_t shard, std::int64_t kept_tokens);
  void close_shard();
  void write(const void* bytes, std::size_t byte_count);
  [[noreturn]] void fail(const char* what) const;

  std::filesystem::path folder_;
  TokenLayout layout_;
  std::int64_t token_count_;
  std::int64_t shard_;         // the open one
  std::int64_t in_shard_ = 0;  // tokens in it
  std::string path_;
  int descriptor_ = -1;
};

}  // namespace snug::prepare
