#include "data/token_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <optional>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "data/dataset_publication.h"
#include "data/token_shards.h"

namespace snug::data {
namespace {

namespace fs = std::filesystem;

static_assert(std::endian::native == std::endian::little, "token files are little-endian");

// llm.c's header. A raw GPT-2 file cannot be taken for one: read as uint16, every magic number
// begins with an id above 55,000, past GPT-2's vocabulary.
constexpr std::int64_t kHeaderBytes = kLlmcHeaderBytes;
constexpr std::int32_t kMagicUint16 = 20240520, kVersionUint16 = 1;
constexpr std::int32_t kMagicUint32 = 20240801, kVersionUint32 = 7;
constexpr std::int32_t kMagicModel = 20240326, kMagicTokenizer = 20240328;

// "mine, tales", or "none".
std::string datasets_under(const fs::path& root) {
  std::vector<std::string> found;
  std::error_code error;
  for (fs::directory_iterator it(root, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (fs::is_regular_file(it->path() / "train.bin", ignored) ||
        !find_shards(it->path(), "train").empty()) {
      found.push_back(it->path().filename().string());
    }
  }
  std::sort(found.begin(), found.end());
  std::string list;
  for (const std::string& each : found) list += (list.empty() ? "" : ", ") + each;
  return list.empty() ? "none" : list;
}

// A text that lies in the folder, or beside the data sets under their name; empty: none is seen.
fs::path text_for(const fs::path& dataset) {
  const fs::path by_name = dataset.filename().string() + ".txt";
  std::error_code ignored;
  for (const fs::path& candidate : {dataset / "input.txt", dataset / by_name, by_name,
                                    dataset.parent_path() / by_name, fs::path("input.txt")}) {
    if (fs::is_regular_file(candidate, ignored)) return candidate;
  }
  return {};
}

// What makes the data set: of GPT-2's tokens those that are so in nanoGPT, else of characters.
std::string prepare_command(const fs::path& dataset, const fs::path& text) {
  const std::string name = dataset.filename().string();
  if (text.empty() && (name == "shakespeare" || name == "shakespeare_char")) {
    return fmt::format("snug prepare {} {}", name, dataset.string());
  }
  return fmt::format("snug prepare {} {} {}",
                     name == "shakespeare" || name == "openwebtext" ? "bpe" : "char",
                     text.empty() ? "YOUR_TEXT.txt" : text.string(), dataset.string());
}

[[noreturn]] void fail_missing(const fs::path& path) {
  const fs::path dataset = path.parent_path();
  const fs::path root = dataset.has_parent_path() ? dataset.parent_path() : fs::path(".");
  std::error_code ignored;
  const bool folder_is_there = fs::is_directory(dataset, ignored);
  const fs::path text = text_for(dataset);
  const std::string command = prepare_command(dataset, text);
  const bool fetched = text.empty() && command.find("YOUR_TEXT") == std::string::npos;
  throw DataError(fmt::format(
      "{} is missing: {}\ndatasets under {}: {}\n{}: {}", path.string(),
      folder_is_there ? fmt::format("the folder {} is there, without it", dataset.string())
                      : fmt::format("there is no folder {}", dataset.string()),
      root.string(), datasets_under(root),
      fetched        ? "fetch the text and make the data set from it"
      : text.empty() ? "use one of those, or make this one from your text"
                     : "the text is there, make the data set from it",
      command));
}

InputFile open_file(const fs::path& path) {
  require_whole_dataset(path.parent_path());
  std::error_code error;
  if (fs::status(path, error).type() == fs::file_type::not_found) fail_missing(path);
  return InputFile(path);
}

}  // namespace

std::string llmc_token_header(std::int64_t token_count) {
  std::array<std::int32_t, kHeaderBytes / 4> header{kMagicUint16, kVersionUint16};
  if (token_count > std::numeric_limits<std::int32_t>::max()) {
    throw InternalError("llm.c counts the tokens of a file in 32 bits");
  }
  header[2] = static_cast<std::int32_t>(token_count);
  return {reinterpret_cast<const char*>(header.data()), sizeof(header)};
}

TokenFile::TokenFile(const fs::path& path, const TokenFileNeeds& needs)
    : file_(open_file(path)), needs_(needs) {
  if (needs.vocab_size <= 0 || needs.vocab_size > std::numeric_limits<std::int32_t>::max() ||
      needs.block_size < 0) {
    throw InternalError(fmt::format("token file needs vocab_size {} and block_size {}",
                                    needs.vocab_size, needs.block_size));
  }
  read_header();
  count_tokens();
}

void TokenFile::read_header() {
  std::array<std::int32_t, 3> header{};
  if (file_.byte_count() < kHeaderBytes) return;
  file_.read_at(0, std::as_writable_bytes(std::span(header)));
  const auto [magic, version, count] = header;
  if (magic >= kMagicModel && magic <= kMagicTokenizer) {
    throw DataError(
        fmt::format("{} is a model, state or tokenizer of llm.c (magic {}), not "
                    "tokens\ngive the path of a token file",
                    name(), magic));
  }
  if (magic != kMagicUint16 && magic != kMagicUint32) return;
  const std::int32_t wanted = magic == kMagicUint16 ? kVersionUint16 : kVersionUint32;
  if (version != wanted) {
    throw DataError(
        fmt::format("{} is an llm.c token file of version {}, and only version {} is "
                    "known\nmake it again with llm.c's data scripts",
                    name(), version, wanted));
  }
  header_bytes_ = kHeaderBytes;
  token_bytes_ = magic == kMagicUint16 ? 2 : 4;
  const std::int64_t wanted_bytes = kHeaderBytes + count * token_bytes_;
  if (count < 0 || wanted_bytes != file_.byte_count()) {
    throw DataError(
        fmt::format("{} is damaged: its header promises {} tokens\nwanted {} bytes, "
                    "found {}\ndownload or make it again",
                    name(), with_thousands(count), with_thousands(wanted_bytes),
                    with_thousands(file_.byte_count())));
  }
}

void TokenFile::count_tokens() {
  const std::int64_t body_bytes = file_.byte_count() - header_bytes_;
  if (body_bytes == 0) {
    throw DataError(fmt::format("{} is empty\nmake it again with `snug prepare`", name()));
  }
  if (body_bytes % token_bytes_ != 0) {
    throw DataError(
        fmt::format("{} holds {} bytes, an odd number, but tokens take 2 bytes each\n"
                    "it is cut off or not a token file; make it again with `snug "
                    "prepare`",
                    name(), with_thousands(body_bytes)));
  }
  token_count_ = body_bytes / token_bytes_;
  if (token_count_ <= needs_.block_size) {
    throw DataError(
        fmt::format("{} is too short for block_size = {}\nwanted more than {} tokens, "
                    "found {}\nprepare more text, or set block_size to {} or less",
                    name(), needs_.block_size, with_thousands(needs_.block_size),
                    with_thousands(token_count_), std::max<std::int64_t>(token_count_ - 1, 1)));
  }
}

void TokenFile::read(std::int64_t first, std::span<std::int32_t> out) const {
  const auto count = static_cast<std::int64_t>(out.size());
  if (first < 0 || count > token_count_ || first > token_count_ - count) {
    throw InternalError(fmt::format("tokens {} to {} of {} asked for, which holds {}", first,
                                    first + count, name(), token_count_));
  }
  // The raw tokens go to the end of `out` and are widened forwards: the write of element i ends at
  // byte 4i + 4, never past the next unread token, at 4 count - token_bytes (count - i - 1).
  const std::span<std::byte> bytes = std::as_writable_bytes(out);
  const std::span<std::byte> raw = bytes.last(static_cast<std::size_t>(count * token_bytes_));
  const std::int64_t got = file_.read_at(header_bytes_ + first * token_bytes_, raw);
  if (got != count * token_bytes_ || file_.current_byte_count() < file_.byte_count()) {
    fail_changed();
  }
  const auto vocab_size = static_cast<std::uint32_t>(needs_.vocab_size);
  const auto width = static_cast<std::size_t>(token_bytes_);
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::uint32_t id = 0;
    std::memcpy(&id, raw.data() + i * width, width);
    if (id >= vocab_size) fail_id(first + static_cast<std::int64_t>(i), id);
    out[i] = static_cast<std::int32_t>(id);
  }
}

bool TokenFile::check_all_ids() const {
  if (file_.byte_count() > kCheckAllLimitBytes) return false;
  std::array<std::int32_t, 8192> buffer;
  for (std::int64_t first = 0; first < token_count_;) {
    const std::int64_t count = std::min<std::int64_t>(buffer.size(), token_count_ - first);
    read(first, std::span(buffer).first(static_cast<std::size_t>(count)));
    first += count;
  }
  return true;
}

void TokenFile::fail_changed() const {
  throw DataError(fmt::format(
      "{} was cut short while it was in use\nit had {} bytes at the start and "
      "has {} now\nput the old file back, or start again with the new one",
      name(), with_thousands(file_.byte_count()), with_thousands(file_.current_byte_count())));
}

void TokenFile::fail_id(std::int64_t position, std::uint32_t id) const {
  if (!needs_.model.empty()) {
    throw DataError(fmt::format(
        "the data and the model have different vocabularies: position {} of {} has token {}, the "
        "model in {} knows 0 to {}\n"
        "name the data set that it was trained on with --dataset, or prepare the text with its "
        "tokenizer",
        with_thousands(position), name(), id, needs_.model, needs_.vocab_size - 1));
  }
  throw DataError(
      fmt::format("token {} at position {} of {} is outside the vocabulary of {}\n"
                  "wanted ids from 0 to {}\nmake the dataset again with `snug prepare`, "
                  "or put the meta.pkl that belongs to it beside it",
                  id, with_thousands(position), name(), needs_.vocab_size, needs_.vocab_size - 1));
}

}  // namespace snug::data
