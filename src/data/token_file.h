// A file of token ids: nanoGPT's raw uint16 (data/<dataset>/train.bin) or an llm.c token file, told
// apart by llm.c's magic number. Read by position into the caller's memory, never mapped.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "base/bytes.h"
#include "base/input_file.h"
#include "data/token_source.h"

namespace snug::data {

// llm.c's header: 256 int32, of which three are used.
constexpr std::int64_t kLlmcHeaderBytes = 256 * 4;
// The header of an llm.c file of so many uint16 tokens.
std::string llmc_token_header(std::int64_t token_count);

class TokenFile : public TokenSource {
 public:
  // Files up to this size can be checked whole before training; larger ones are checked as read.
  static constexpr std::int64_t kCheckAllLimitBytes = 64 * kMiB;

  // Throws DataError, saying what to do, for every file that cannot serve `needs`.
  TokenFile(const std::filesystem::path& path, const TokenFileNeeds& needs);

  std::int64_t token_count() const noexcept override { return token_count_; }
  const std::string& name() const noexcept override { return file_.name(); }
  std::vector<std::string> files() const override { return {name()}; }
  bool has_header() const noexcept override { return header_bytes_ > 0; }

  // What is appended to the file is not looked at.
  void read(std::int64_t first, std::span<std::int32_t> out) const override;

  // Does so if the file is at most kCheckAllLimitBytes.
  bool check_all_ids() const override;

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

}  // namespace snug::data
