#include "pickle/text.h"

#include <charconv>

#include "base/utf8.h"

namespace snug::pickle {
namespace {

template <typename Number>
std::optional<Number> parse_all(std::string_view text) {
  Number number{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

// Exactly `digits` digits at the front of `text`.
std::optional<std::uint32_t> parse_digits(std::string_view text, std::size_t digits, int base) {
  if (text.size() < digits) return std::nullopt;
  std::uint32_t number = 0;
  const char* end = text.data() + digits;
  const auto [stop, error] = std::from_chars(text.data(), end, number, base);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

std::optional<char> simple_escape(char letter) {
  constexpr std::string_view kLetters = "\\'\"abfnrtv";
  constexpr std::string_view kMeanings = "\\'\"\a\b\f\n\r\t\v";
  const std::size_t at = kLetters.find(letter);
  if (at == std::string_view::npos) return std::nullopt;
  return kMeanings[at];
}

// Takes one escape, after its backslash, off the front of `text`.
bool take_escape(std::string_view& text, std::string& out) {
  if (text.empty()) return false;
  if (const std::optional<char> meaning = simple_escape(text[0])) {
    out += *meaning;
    text.remove_prefix(1);
    return true;
  }
  const bool hex = text[0] == 'x';
  if (hex) text.remove_prefix(1);
  const std::size_t digits = hex ? 2 : 3;
  const std::optional<std::uint32_t> byte = parse_digits(text, digits, hex ? 16 : 8);
  if (!byte || *byte > 0xFF) return false;
  out += static_cast<char>(*byte);
  text.remove_prefix(digits);
  return true;
}

}  // namespace

std::optional<std::int64_t> parse_pickle_int(std::string_view line) {
  if (line.ends_with('L')) line.remove_suffix(1);
  return parse_all<std::int64_t>(line);
}

std::optional<double> parse_pickle_float(std::string_view line) { return parse_all<double>(line); }

std::optional<std::string> parse_raw_unicode_escape(std::string_view line) {
  std::string out;
  for (std::size_t at = 0; at < line.size();) {
    const char next = at + 1 < line.size() ? line[at + 1] : '\0';
    if (line[at] != '\\' || (next != 'u' && next != 'U')) {
      // A backslash takes the character after it along: "\\u0041" holds no escape.
      const std::size_t count = line[at] == '\\' && at + 1 < line.size() ? 2 : 1;
      for (const char byte : line.substr(at, count)) {
        append_utf8(static_cast<unsigned char>(byte), out);
      }
      at += count;
      continue;
    }
    const std::size_t digits = next == 'u' ? 4 : 8;
    const std::optional<std::uint32_t> code_point = parse_digits(line.substr(at + 2), digits, 16);
    const bool valid = code_point && *code_point <= kMaxCodePoint &&
                       (*code_point < 0xD800 || *code_point > 0xDFFF);
    if (!valid) return std::nullopt;
    append_utf8(*code_point, out);
    at += 2 + digits;
  }
  return out;
}

std::optional<std::string> parse_quoted_string(std::string_view line) {
  const bool quoted = line.size() >= 2 && line.front() == line.back() &&
                      (line.front() == '\'' || line.front() == '"');
  if (!quoted) return std::nullopt;
  line = line.substr(1, line.size() - 2);
  std::string out;
  while (!line.empty()) {
    const char byte = line[0];
    line.remove_prefix(1);
    if (byte != '\\') {
      out += byte;
    } else if (!take_escape(line, out)) {
      return std::nullopt;
    }
  }
  return out;
}

}  // namespace snug::pickle
