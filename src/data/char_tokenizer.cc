#include "data/char_tokenizer.h"

#include <fmt/format.h>

#include <utility>

#include "base/bytes.h"
#include "base/error.h"
#include "base/utf8.h"

namespace snug::data {
namespace {

// The vocabulary for a message: what does not print is left out, and a long one is cut.
std::string listing(const Meta& meta) {
  constexpr std::size_t kMaxBytes = 200;
  std::string list;
  for (const std::string& text : meta.itos) {
    if (list.size() + text.size() > kMaxBytes) return list + " ...";
    if (text.size() != 1 || text[0] >= ' ') list += text;
  }
  return list;
}

[[noreturn]] void fail_unknown(const Meta& meta, char32_t code_point, std::size_t offset) {
  throw DataError(fmt::format(
      "the character {} at byte {} of the text is not in the vocabulary of {}\nit knows: {}\nuse "
      "only those, or prepare and train with text that has the character",
      describe_character(code_point), with_thousands(static_cast<std::int64_t>(offset)),
      meta.vocab_size, listing(meta)));
}

}  // namespace

CharTokenizer::CharTokenizer(Meta meta) : meta_(std::move(meta)) {
  if (meta_.itos.empty()) {
    throw DataError(
        "meta.pkl has no itos: it says how many tokens there are, not which characters "
        "they stand for\nuse the meta.pkl the dataset was prepared with");
  }
}

std::vector<std::int32_t> CharTokenizer::encode(std::string_view utf8) const {
  std::vector<std::int32_t> ids;
  ids.reserve(utf8.size());
  std::string text;
  for (std::size_t at = 0; at < utf8.size();) {
    const Utf8Char next = decode_utf8(utf8.substr(at));
    if (next.length <= 0) {
      throw DataError(fmt::format(
          "the text is not UTF-8: byte 0x{:02X} at offset {}\nsave it as "
          "UTF-8",
          static_cast<unsigned char>(utf8[at]), with_thousands(static_cast<std::int64_t>(at))));
    }
    text.assign(utf8.substr(at, static_cast<std::size_t>(next.length)));
    const auto found = meta_.stoi.find(text);
    if (found == meta_.stoi.end()) fail_unknown(meta_, next.code_point, at);
    ids.push_back(found->second);
    at += text.size();
  }
  return ids;
}

std::string CharTokenizer::decode(std::span<const std::int32_t> ids) const {
  std::string text;
  for (const std::int32_t id : ids) {
    if (id < 0 || id >= meta_.vocab_size) {
      throw DataError(
          fmt::format("the id {} is outside the vocabulary of {}\nthe model and "
                      "meta.pkl belong to different datasets",
                      id, meta_.vocab_size));
    }
    text += meta_.itos[static_cast<std::size_t>(id)];
  }
  return text;
}

}  // namespace snug::data
