#include "data/describe.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <system_error>

#include "base/error.h"
#include "base/utf8.h"
#include "data/char_tokenizer.h"
#include "data/token_shards.h"
#include "data/token_source.h"
#include "data/wide_ids.h"
#include "tokenizer/gpt2_tokenizer.h"

namespace snug::data {
namespace {

namespace fs = std::filesystem;
using tokenizer::Gpt2Vocabulary;

constexpr std::size_t kSampleTokens = 60;
constexpr std::int64_t kAnyId = std::numeric_limits<std::int32_t>::max();

// Ids of 16 bits, which is what tells a file from another's; Llama's larger ones are one.
class IdSet {
 public:
  void add(std::int32_t id) {
    seen_[std::min<std::size_t>(static_cast<std::size_t>(id), kLast)] = true;
  }
  std::int64_t size() const { return std::count(seen_.begin(), seen_.end(), true); }

 private:
  static constexpr std::size_t kLast = 65536;
  std::vector<bool> seen_ = std::vector<bool>(kLast + 1);
};

void look_at(std::span<const std::int32_t> ids, std::int64_t first, std::int64_t vocab_size,
             bool characters, SideDescription& side, IdSet& seen) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const std::int32_t id = ids[i];
    seen.add(id);
    side.largest_id = std::max<std::int64_t>(side.largest_id, id);
    if (!characters && id == Gpt2Vocabulary::kEndOfText) side.end_of_text_count += 1;
    if (id < vocab_size) continue;
    if (side.outside_count++ == 0) side.first_outside = first + static_cast<std::int64_t>(i);
  }
}

SideDescription describe_side(const fs::path& folder, const std::string& name,
                              const DatasetDescription& dataset, const DescribeProgress& progress) {
  SideDescription side;
  side.side = name;
  const auto tokens = open_tokens(folder, name, {kAnyId, 0});
  const fs::path one = folder / (name + ".bin");
  std::vector<fs::path> files = find_shards(folder, name);
  if (fs::exists(one)) files = {one};
  for (const fs::path& file : files) {
    side.files.push_back(file.filename().string());
    side.byte_count += static_cast<std::int64_t>(fs::file_size(file));
  }
  side.token_count = tokens->token_count();
  side.wide_ids = !dataset.meta && looks_like_wide_ids(*tokens);
  IdSet seen;
  std::array<std::int32_t, 8192> buffer;
  for (std::int64_t first = 0; first < side.token_count;) {
    const auto count = static_cast<std::size_t>(
        std::min<std::int64_t>(static_cast<std::int64_t>(buffer.size()), side.token_count - first));
    const auto ids = std::span(buffer).first(count);
    tokens->read(first, ids);
    if (first == 0) {
      side.first_ids.assign(
          ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(std::min(count, kSampleTokens)));
    }
    look_at(ids, first, dataset.vocab_size, dataset.meta.has_value(), side, seen);
    first += static_cast<std::int64_t>(count);
    if (progress) progress(static_cast<double>(first) / static_cast<double>(side.token_count));
  }
  side.different_ids = seen.size();
  return side;
}

// Without the first bytes of a character whose others are in the next token.
std::string without_half_character(std::string text) {
  constexpr std::size_t kLongest = 4;
  for (std::size_t bytes = 1; bytes <= std::min(kLongest, text.size()); ++bytes) {
    const std::size_t begin = text.size() - bytes;
    if (decode_utf8(std::string_view(text).substr(begin)).length != Utf8Char::kIncomplete) continue;
    text.resize(begin);
    break;
  }
  return text;
}

}  // namespace

DatasetDescription describe_dataset(const fs::path& folder, const DescribeProgress& progress) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    throw DataError(
        fmt::format("{} is no folder\nname one that holds train.bin and val.bin, or "
                    "shards such as fineweb_train_000001.bin",
                    folder.string()));
  }
  DatasetDescription dataset;
  dataset.meta = read_meta(folder);
  dataset.vocab_size = dataset.meta ? dataset.meta->vocab_size : Gpt2Vocabulary::kSize;
  for (const char* side : {"train", "val"}) {
    dataset.sides.push_back(describe_side(folder, side, dataset, progress));
  }
  return dataset;
}

std::string sample_text(const DatasetDescription& dataset, const SideDescription& side) {
  std::vector<std::int32_t> ids = side.first_ids;
  std::erase_if(ids, [&](std::int32_t id) { return id >= dataset.vocab_size; });
  const bool goes_on = side.token_count > std::ssize(side.first_ids);
  if (!dataset.meta) {
    const std::string text = tokenizer::Gpt2Tokenizer().decode(ids);
    return goes_on ? without_half_character(text) : text;
  }
  return dataset.meta->itos.empty() ? "" : CharTokenizer(*dataset.meta).decode(ids);
}

}  // namespace snug::data
