// A file of token ids: nanoGPT's raw uint16 (data/<dataset>/train.bin) or an llm.c token file, told
// apart by llm.c's magic number. Read by position into the caller's memory, never mapped.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "base/bytes.h"
#include "base/input_file.h"

namespace snug {

struct TokenFileNeeds {
  std::int64_t vocab_size = 0;  // every id must be below it
  std::int64_t block_size = 0;  // the file must hold more tokens than this
};

class TokenFile {
 public:
  // Files up to this size can be checked whole before training; larger ones are checked as read.
  static constexpr std::int64_t kCheckAllLimitBytes = 64 * kMiB;

  // Throws DataError, saying what to do, for every file that cannot serve `needs`.
  TokenFile(const std::filesystem::path& path, const TokenFileNeeds& needs);

  std::int64_t token_count() const noexcept { return token_count_; }
  const std::string& name() const noexcept { return file_.name(); }

  // Fills `out` with the tokens from position `first`, which the file must hold. Any number of
  // threads may read; nothing is allocated. Throws DataError for an id outside the vocabulary and
  // when the file has become shorter since it was opened; what is appended is not looked at.
  void read(std::int64_t first, std::span<std::int32_t> out) const;

  // Reads the whole file once, in constant memory, for read()'s errors, if it is at most
  // kCheckAllLimitBytes. Returns whether it did.
  bool check_all_ids() const;

 private:
  void read_header();
  void count_tokens();
  [[noreturn]] void fail_changed() const;
  [[noreturn]] void fail_id(std::int64_t position, std::uint32_t id) const;

  InputFile file_;
  TokenFileNeeds needs_;
  std::int64_t header_bytes_ = 0;
  std::int64_t token_bytes_ = 2;
  std::int64_t token_count_ = 0;
};

}  // namespace snug
