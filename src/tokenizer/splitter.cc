#include "tokenizer/splitter.h"

#include <algorithm>
#include <span>

#include "base/utf8.h"
#include "tokenizer/unicode_ranges.h"

namespace snug::tokenizer {
namespace {

// White_Space: what \s is in tiktoken's regular expressions. PCRE2's adds U+180E.
constexpr CodePointRange kSpaces[] = {
    {0x09, 0x0D},     {0x20, 0x20},     {0x85, 0x85},     {0xA0, 0xA0},     {0x1680, 0x1680},
    {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000},
};

bool holds(std::span<const CodePointRange> ranges, char32_t code_point) noexcept {
  const auto after = std::upper_bound(
      ranges.begin(), ranges.end(), code_point,
      [](char32_t value, const CodePointRange& range) { return value < range.first; });
  return after != ranges.begin() && code_point <= std::prev(after)->last;
}

// Bytes of 's 't 'm 'd 'll 've 're at `begin`, where a ' stands; 0 if it is none of them.
std::size_t contraction_bytes(std::string_view text, std::size_t begin) noexcept {
  const std::string_view tail = text.substr(begin + 1, 2);
  if (tail.empty()) return 0;
  if (tail[0] == 's' || tail[0] == 't' || tail[0] == 'm' || tail[0] == 'd') return 2;
  return tail == "ll" || tail == "ve" || tail == "re" ? 3 : 0;
}

constexpr bool is_ascii_space(char byte) noexcept {
  return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

// Of text that is not empty. Bytes that are not UTF-8 are no space.
bool ends_with_space(std::string_view text) noexcept {
  constexpr std::size_t kLongest = 3;  // no space takes more bytes
  if (static_cast<std::uint8_t>(text.back()) < 0x80) return is_ascii_space(text.back());
  for (std::size_t bytes = 2; bytes <= std::min(kLongest, text.size()); ++bytes) {
    const Utf8Char last = decode_utf8(text.substr(text.size() - bytes));
    if (last.length == static_cast<int>(bytes)) return holds(kSpaces, last.code_point);
  }
  return false;
}

constexpr CharacterClass ascii_class(char byte) noexcept {
  const char lower = static_cast<char>(byte | 0x20);
  if (lower >= 'a' && lower <= 'z') return CharacterClass::kLetter;
  if (byte >= '0' && byte <= '9') return CharacterClass::kNumber;
  return is_ascii_space(byte) ? CharacterClass::kSpace : CharacterClass::kOther;
}

constexpr bool is_ascii(char byte) noexcept { return static_cast<std::uint8_t>(byte) < 0x80; }

// Before a letter a piece may have a ' or a space, before anything else only its like or a space.
constexpr bool no_piece_holds(char first, char second) noexcept {
  if (!is_ascii(first) || !is_ascii(second) || second == '|') return false;
  const CharacterClass left = ascii_class(first), right = ascii_class(second);
  if (left == right || left == CharacterClass::kSpace || right == CharacterClass::kSpace) {
    return false;
  }
  return left != CharacterClass::kOther || right == CharacterClass::kNumber;
}

}  // namespace

Splitter::Splitter() : plane_(std::make_unique<std::array<CharacterClass, kPlaneSize>>()) {
  plane_->fill(CharacterClass::kOther);
  const auto mark = [&](std::span<const CodePointRange> ranges, CharacterClass kind) {
    for (const CodePointRange& range : ranges) {
      for (char32_t c = range.first; c <= range.last && c < kPlaneSize; ++c) (*plane_)[c] = kind;
    }
  };
  mark(letter_ranges(), CharacterClass::kLetter);
  mark(number_ranges(), CharacterClass::kNumber);
  mark(kSpaces, CharacterClass::kSpace);
  std::copy_n(plane_->begin(), 128, ascii_.begin());
  std::fill(ascii_.begin() + 128, ascii_.end(), kNotAscii);
}

CharacterClass Splitter::class_of(char32_t code_point) const noexcept {
  if (code_point < kPlaneSize) return (*plane_)[code_point];
  if (holds(letter_ranges(), code_point)) return CharacterClass::kLetter;
  if (holds(number_ranges(), code_point)) return CharacterClass::kNumber;
  return CharacterClass::kOther;
}

Splitter::Character Splitter::wide_at(std::string_view text, std::size_t position) const noexcept {
  const Utf8Char character = decode_utf8(text.substr(position));
  if (character.length <= 0) return {CharacterClass::kOther, 1};
  return {class_of(character.code_point), static_cast<std::uint8_t>(character.length)};
}

inline Splitter::Character Splitter::at(std::string_view text,
                                        std::size_t position) const noexcept {
  const CharacterClass kind = ascii_[static_cast<std::uint8_t>(text[position])];
  return kind != kNotAscii ? Character{kind, 1} : wide_at(text, position);
}

std::size_t Splitter::run_end(std::string_view text, std::size_t begin,
                              CharacterClass kind) const noexcept {
  while (begin < text.size()) {
    const Character next = at(text, begin);
    if (next.kind != kind) break;
    begin += next.byte_count;
  }
  return begin;
}

std::size_t Splitter::space_piece_end(std::string_view text, std::size_t begin) const noexcept {
  std::size_t last = begin, end = begin;  // the last space of the run, and the run's end
  while (end < text.size()) {
    const Character next = at(text, end);
    if (next.kind != CharacterClass::kSpace) break;
    last = end;
    end += next.byte_count;
  }
  // A word takes the space before it: a run of two or more leaves its last one.
  return end == text.size() || last == begin ? end : last;
}

std::size_t Splitter::piece_end(std::string_view text, std::size_t begin) const noexcept {
  const Character first = at(text, begin);
  const std::size_t after = begin + first.byte_count;
  if (first.kind == CharacterClass::kSpace) {
    if (text[begin] != ' ' || after == text.size()) return space_piece_end(text, begin);
    const Character second = at(text, after);
    if (second.kind == CharacterClass::kSpace) return space_piece_end(text, begin);
    return run_end(text, after + second.byte_count, second.kind);
  }
  if (text[begin] == '\'') {
    const std::size_t bytes = contraction_bytes(text, begin);
    if (bytes > 0) return begin + bytes;
  }
  return run_end(text, after, first.kind);
}

std::size_t last_safe_cut(std::string_view text) noexcept {
  for (std::size_t i = text.size(); i-- > 1;) {
    if (is_ascii_space(text[i]) && !ends_with_space(text.substr(0, i))) return i;
  }
  for (std::size_t i = text.size(); i-- > 1;) {
    if (no_piece_holds(text[i - 1], text[i])) return i;
  }
  return 0;
}

}  // namespace snug::tokenizer
