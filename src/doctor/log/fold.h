// Folding: text as the phrase search and the amount reader see it. Case, blanks, box borders, quote
// marks, emphasis and all non-ASCII bytes vanish, so a message reads the same however it was
// wrapped, framed or quoted, and UTF-16 reads as its ASCII part.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace snug::doctor::log {

constexpr char folded(unsigned char byte) noexcept {
  if (byte >= 'A' && byte <= 'Z') return static_cast<char>(byte - 'A' + 'a');
  if (byte <= ' ' || byte >= 0x7F) return '\0';
  for (const char dropped : {'_', '|', '>', '`', '*', '\\'}) {
    if (byte == static_cast<unsigned char>(dropped)) return '\0';
  }
  return static_cast<char>(byte);
}

// Folded characters by byte; 0 for what is dropped.
constexpr std::array<char, 256> kFolded = [] {
  std::array<char, 256> table{};
  for (std::size_t byte = 0; byte < 256; ++byte) {
    table[byte] = folded(static_cast<unsigned char>(byte));
  }
  return table;
}();

inline char fold(char c) noexcept { return kFolded[static_cast<unsigned char>(c)]; }

// Appends the folded form of `text` to `out`.
inline void append_folded(std::string& out, std::string_view text) {
  for (const char c : text) {
    if (const char kept = fold(c)) out += kept;
  }
}

inline std::string fold_text(std::string_view text) {
  std::string out;
  append_folded(out, text);
  return out;
}

// A folded text that knows where each of its characters came from. Two numbers on one line do not
// run together: one blank stays between them. Over a line end they do, for a number may be wrapped.
struct FoldedText {
  std::string text;
  std::vector<std::uint32_t> origin;  // offset in the unfolded text, one per character

  explicit FoldedText(std::string_view unfolded) {
    bool is_parted = false, is_wrapped = false;
    for (std::size_t at = 0; at < unfolded.size(); ++at) {
      const char kept = fold(unfolded[at]);
      if (kept == '\0') {
        is_parted |= unfolded[at] == ' ';
        is_wrapped |= unfolded[at] == '\n';
        continue;
      }
      const bool are_numbers = is_digit(kept) && !text.empty() && is_digit(text.back());
      if (are_numbers && is_parted && !is_wrapped) add(' ', at);
      add(kept, at);
      is_parted = is_wrapped = false;
    }
  }
  // The folded position of the first character from unfolded offset `at` on.
  std::size_t position_of(std::size_t at) const {
    std::size_t position = 0;
    while (position < origin.size() && origin[position] < at) ++position;
    return position;
  }

 private:
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  void add(char c, std::size_t at) {
    text += c;
    origin.push_back(static_cast<std::uint32_t>(at));
  }
};

}  // namespace snug::doctor::log
