#include "data/token_shards.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <system_error>

#include "base/bytes.h"
#include "base/error.h"

namespace snug::data {
namespace {

namespace fs = std::filesystem;

// FineWeb's 100 billion tokens are over a thousand shards, a common limit of open files.
void allow_open_files(std::size_t count) {
  constexpr rlim_t kOthers = 128;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= count + kOthers) return;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, count + kOthers);
  ::setrlimit(RLIMIT_NOFILE, &limit);  // if refused, opening fails and says why
}

}  // namespace

std::vector<fs::path> find_shards(const fs::path& folder, const std::string& side) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    const bool named = name.ends_with("_" + side + ".bin") ||
                       (name.find("_" + side + "_") != name.npos && name.ends_with(".bin"));
    std::error_code ignored;
    if (named && it->is_regular_file(ignored)) found.push_back(it->path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

TokenShards::TokenShards(const std::vector<fs::path>& paths, const TokenFileNeeds& needs) {
  allow_open_files(paths.size());
  for (const fs::path& path : paths) {
    shards_.push_back(std::make_unique<TokenFile>(path, TokenFileNeeds{needs.vocab_size, 0}));
    starts_.push_back(starts_.back() + shards_.back()->token_count());
  }
  name_ = fmt::format("{} and {} more", shards_.front()->name(), shards_.size() - 1);
  if (shards_.size() == 1) name_ = shards_.front()->name();
  if (token_count() > needs.block_size) return;
  throw DataError(fmt::format("{}: too short for block_size = {}: {} tokens in {} shards", name_,
                              needs.block_size, with_thousands(token_count()), shards_.size()));
}

void TokenShards::read(std::int64_t first, std::span<std::int32_t> out) const {
  if (first < 0 || first > token_count() - static_cast<std::int64_t>(out.size())) {
    throw InternalError(fmt::format("tokens {} to {} of {} asked for", first,
                                    first + static_cast<std::int64_t>(out.size()), name_));
  }
  auto at = static_cast<std::size_t>(std::upper_bound(starts_.begin(), starts_.end(), first) -
                                     starts_.begin() - 1);
  for (; !out.empty(); ++at) {
    const std::int64_t in_shard =
        std::min<std::int64_t>(static_cast<std::int64_t>(out.size()), starts_[at + 1] - first);
    shards_[at]->read(first - starts_[at], out.first(static_cast<std::size_t>(in_shard)));
    out = out.subspan(static_cast<std::size_t>(in_shard));
    first += in_shard;
  }
}

std::vector<std::string> TokenShards::files() const {
  std::vector<std::string> names;
  for (const auto& shard : shards_) names.push_back(shard->name());
  return names;
}

bool TokenShards::check_all_ids() const {
  if (token_count() * 2 > TokenFile::kCheckAllLimitBytes) return false;
  for (const auto& shard : shards_) shard->check_all_ids();
  return true;
}

std::unique_ptr<TokenSource> open_tokens(const fs::path& folder, const std::string& side,
                                         const TokenFileNeeds& needs) {
  const fs::path file = folder / (side + ".bin");
  const std::vector<fs::path> shards = find_shards(folder, side);
  std::error_code error;
  const bool missing = fs::status(file, error).type() == fs::file_type::not_found;
  if (missing && !shards.empty()) return std::make_unique<TokenShards>(shards, needs);
  return std::make_unique<TokenFile>(file, needs);
}

}  // namespace snug::data
