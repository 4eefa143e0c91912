// UTF-8, exactly as strict as Python's: no overlong forms, no surrogates, nothing above U+10FFFF.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace snug {

constexpr char32_t kMaxCodePoint = 0x10FFFF;

struct Utf8Char {
  static constexpr int kInvalid = 0;      // the bytes cannot begin a character
  static constexpr int kIncomplete = -1;  // they are valid so far, but end too early

  char32_t code_point = 0;
  int length = kInvalid;  // bytes taken, 1 to 4, or one of the two above
};

// The first character of `bytes`.
Utf8Char decode_utf8(std::string_view bytes) noexcept;

// `code_point` must be a valid one.
void append_utf8(char32_t code_point, std::string& out);

// Where the first byte that is not UTF-8 stands, if any.
std::optional<std::size_t> find_invalid_utf8(std::string_view bytes) noexcept;

// For messages: "'x' (U+0078)", and only "U+000A" for what does not print.
std::string describe_character(char32_t code_point);

}  // namespace snug
