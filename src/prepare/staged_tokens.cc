#include "prepare/staged_tokens.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/own_file.h"
#include "data/atomic_file.h"
#include "data/token_file.h"

namespace snug::prepare {

StagedTokens::StagedTokens(std::filesystem::path folder, TokenLayout layout,
                           std::int64_t kept_tokens)
    : folder_(std::move(folder)), layout_(std::move(layout)), token_count_(kept_tokens) {
  shard_ = shard_of(kept_tokens);
  const std::int64_t in_shards_before =
      layout_.format == Format::kLlmc ? shard_ * layout_.shard_tokens : 0;
  open_shard(shard_, kept_tokens - in_shards_before);
}

StagedTokens::~StagedTokens() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::int64_t StagedTokens::shard_of(std::int64_t token) const {
  return layout_.format == Format::kLlmc ? token / layout_.shard_tokens : 0;
}

std::string StagedTokens::shard_name(std::int64_t shard) const {
  if (layout_.format == Format::kNanoGpt) return layout_.name + ".bin";
  return fmt::format("{}_{:06}.bin", layout_.name, layout_.first_shard + shard);
}

std::int64_t StagedTokens::header_bytes() const {
  return layout_.format == Format::kLlmc ? data::kLlmcHeaderBytes : 0;
}

void StagedTokens::fail(const char* what) const {
  throw StagingError(fmt::format("{} {}: {}", path_, what, std::strerror(errno)));
}

void StagedTokens::open_shard(std::int64_t shard, std::int64_t kept_tokens) {
  shard_ = shard;
  in_shard_ = kept_tokens;
  path_ = (folder_ / shard_name(shard)).string();
  descriptor_ = open_own_file(path_, O_WRONLY, data::kWhyOwn);
  if (descriptor_ < 0) fail("cannot be written");
  const std::int64_t size = header_bytes() + 2 * kept_tokens;
  if (kept_tokens > 0 && ::lseek(descriptor_, 0, SEEK_END) < size) {
    throw DeviceError(fmt::format("{} is shorter than its journal says\nremove {} to start over",
                                  path_, folder_.string()));
  }
  if (::ftruncate(descriptor_, size) != 0 || ::lseek(descriptor_, size, SEEK_SET) != size) {
    fail("cannot be written");
  }
}

void StagedTokens::close_shard() {
  if (layout_.format == Format::kLlmc) {
    const std::string header = data::llmc_token_header(in_shard_);
    if (::pwrite(descriptor_, header.data(), header.size(), 0) !=
        static_cast<ssize_t>(header.size())) {
      fail("cannot be written");
    }
  }
  sync();
  ::close(descriptor_);
  descriptor_ = -1;
}

void StagedTokens::write(const void* bytes, std::size_t byte_count) {
  const char* at = static_cast<const char*>(bytes);
  while (byte_count > 0) {
    const ssize_t count = ::write(descriptor_, at, byte_count);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("cannot be written");
    at += count;
    byte_count -= static_cast<std::size_t>(count);
  }
}

void StagedTokens::append(std::span<const std::uint16_t> tokens) {
  while (!tokens.empty()) {
    if (shard_of(token_count_) != shard_) {
      close_shard();
      open_shard(shard_ + 1, 0);
    }
    std::size_t count = tokens.size();
    if (layout_.format == Format::kLlmc) {
      count = std::min(count, static_cast<std::size_t>(layout_.shard_tokens - in_shard_));
    }
    write(tokens.data(), count * sizeof(std::uint16_t));
    in_shard_ += static_cast<std::int64_t>(count);
    token_count_ += static_cast<std::int64_t>(count);
    tokens = tokens.subspan(count);
  }
}

void StagedTokens::sync() {
  if (::fsync(descriptor_) != 0) fail("cannot be made durable");
}

std::vector<std::string> StagedTokens::finish() {
  close_shard();
  std::vector<std::string> names;
  for (std::int64_t shard = 0; shard <= shard_; ++shard) names.push_back(shard_name(shard));
  return names;
}

}  // namespace snug::prepare
