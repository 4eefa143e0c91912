#include "tokenizer/gpt2_vocabulary.h"

#include <fmt/format.h>

#include <array>
#include <unordered_map>

#include "base/error.h"
#include "base/utf8.h"

namespace snug::tokenizer {
namespace {

constexpr char kMergesFile[] =
#include "tokenizer/gpt2/merges.txt.inc"
    ;
constexpr std::string_view kMerges(kMergesFile, sizeof(kMergesFile) - 1);

// GPT-2 writes a byte as a character that can be seen: itself where it prints in Latin-1, else the
// next unused one from U+0100 on. Ids of single bytes follow the same order.
constexpr bool prints(int byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

struct ByteAlphabet {
  std::array<char32_t, 256> character{};  // of a byte
  std::array<std::uint8_t, 512> byte{};   // of a character
  std::array<std::uint8_t, 256> in_order{};
};

constexpr ByteAlphabet make_alphabet() {
  ByteAlphabet alphabet;
  std::size_t count = 0;
  char32_t substitute = 0x100;
  for (const bool printing : {true, false}) {
    for (int byte = 0; byte < 256; ++byte) {
      if (prints(byte) != printing) continue;
      const auto at = static_cast<std::size_t>(byte);
      alphabet.character[at] = printing ? static_cast<char32_t>(byte) : substitute++;
      alphabet.byte[alphabet.character[at]] = static_cast<std::uint8_t>(byte);
      alphabet.in_order[count++] = static_cast<std::uint8_t>(byte);
    }
  }
  return alphabet;
}

constexpr ByteAlphabet kAlphabet = make_alphabet();

std::string bytes_of_printable(std::string_view text) {
  std::string bytes;
  while (!text.empty()) {
    const Utf8Char next = decode_utf8(text);
    if (next.length <= 0 || next.code_point >= kAlphabet.byte.size()) {
      throw InternalError("the merge table is damaged");
    }
    bytes += static_cast<char>(kAlphabet.byte[next.code_point]);
    text.remove_prefix(static_cast<std::size_t>(next.length));
  }
  return bytes;
}

}  // namespace

Gpt2Vocabulary::Gpt2Vocabulary() : byte_ids_(256) {
  bytes_.reserve(std::size_t{1} << 19);
  starts_.reserve(kSize + 1);
  add_byte_tokens();
  add_merged_tokens();
  add_token(kEndOfTextText);
  starts_.push_back(static_cast<std::uint32_t>(bytes_.size()));
  if (starts_.size() != kSize + 1) throw InternalError("the merge table is incomplete");
}

void Gpt2Vocabulary::add_token(std::string_view bytes) {
  starts_.push_back(static_cast<std::uint32_t>(bytes_.size()));
  bytes_ += bytes;
}

void Gpt2Vocabulary::add_byte_tokens() {
  for (const std::uint8_t byte : kAlphabet.in_order) {
    byte_ids_[byte] = static_cast<std::uint16_t>(starts_.size());
    add_token(std::string(1, static_cast<char>(byte)));
  }
}

void Gpt2Vocabulary::add_merged_tokens() {
  std::unordered_map<std::string, std::uint16_t> ids;
  ids.reserve(kSize);
  for (int byte = 0; byte < 256; ++byte) {
    ids.emplace(std::string(1, static_cast<char>(byte)), byte_ids_[static_cast<std::size_t>(byte)]);
  }
  for (const std::string_view line : merges()) {
    const std::size_t space = line.find(' ');
    const std::string left = bytes_of_printable(line.substr(0, space));
    const std::string right = bytes_of_printable(line.substr(space + 1));
    const auto id = static_cast<std::uint16_t>(starts_.size());
    pairs_.add(ids.at(left), ids.at(right), id);
    ids.emplace(left + right, id);
    add_token(left + right);
  }
}

std::string Gpt2Vocabulary::printable(std::int32_t id) const {
  return id == kEndOfText ? std::string(kEndOfTextText) : printable(bytes_of(id));
}

std::string Gpt2Vocabulary::printable(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) {
    append_utf8(kAlphabet.character[static_cast<std::uint8_t>(byte)], text);
  }
  return text;
}

std::string_view Gpt2Vocabulary::merges_text() noexcept { return kMerges; }

std::vector<std::string_view> Gpt2Vocabulary::merges() {
  std::vector<std::string_view> lines;
  lines.reserve(kSize);
  for (std::string_view rest = kMerges.substr(kMerges.find('\n') + 1); !rest.empty();) {
    lines.push_back(rest.substr(0, rest.find('\n')));
    rest.remove_prefix(std::min(lines.back().size() + 1, rest.size()));
  }
  return lines;
}

}  // namespace snug::tokenizer
