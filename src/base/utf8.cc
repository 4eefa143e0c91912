#include "base/utf8.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstring>

namespace snug {
namespace {

// How many bytes at the beginning, in steps of eight, are ASCII.
std::size_t ascii_bytes(std::string_view bytes) noexcept {
  std::size_t at = 0;
  for (std::uint64_t eight = 0; at + sizeof eight <= bytes.size(); at += sizeof eight) {
    std::memcpy(&eight, bytes.data() + at, sizeof eight);
    if ((eight & 0x8080808080808080u) != 0) break;
  }
  return at;
}

}  // namespace

Utf8Char decode_utf8(std::string_view bytes) noexcept {
  if (bytes.empty()) return {0, Utf8Char::kIncomplete};
  const auto lead = static_cast<unsigned char>(bytes[0]);
  if (lead < 0x80) return {lead, 1};
  if (lead < 0xC2 || lead > 0xF4) return {0, Utf8Char::kInvalid};
  const int length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  // The bounds of the second byte exclude overlong forms, surrogates and what is past U+10FFFF.
  unsigned char low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  unsigned char high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  char32_t code_point = lead & (0x7Fu >> length);
  for (std::size_t i = 1; i < static_cast<std::size_t>(length); ++i) {
    if (i >= bytes.size()) return {0, Utf8Char::kIncomplete};
    const auto byte = static_cast<unsigned char>(bytes[i]);
    if (byte < low || byte > high) return {0, Utf8Char::kInvalid};
    code_point = (code_point << 6) | (byte & 0x3Fu);
    low = 0x80;
    high = 0xBF;
  }
  return {code_point, length};
}

void append_utf8(char32_t code_point, std::string& out) {
  const auto tail = [&](int shift) {
    out += static_cast<char>(0x80 | ((code_point >> shift) & 0x3F));
  };
  if (code_point < 0x80) {
    out += static_cast<char>(code_point);
  } else if (code_point < 0x800) {
    out += static_cast<char>(0xC0 | (code_point >> 6));
    tail(0);
  } else if (code_point < 0x10000) {
    out += static_cast<char>(0xE0 | (code_point >> 12));
    tail(6);
    tail(0);
  } else {
    out += static_cast<char>(0xF0 | (code_point >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
}

std::optional<std::size_t> find_invalid_utf8(std::string_view bytes) noexcept {
  for (std::size_t at = 0; at < bytes.size();) {
    at += ascii_bytes(bytes.substr(at));
    if (at == bytes.size()) break;
    const Utf8Char next = decode_utf8(bytes.substr(at));
    if (next.length <= 0) return at;
    at += static_cast<std::size_t>(next.length);
  }
  return std::nullopt;
}

std::string describe_character(char32_t code_point) {
  const std::string number = fmt::format("U+{:04X}", static_cast<std::uint32_t>(code_point));
  if (code_point < 0x20 || (code_point >= 0x7F && code_point < 0xA0)) return number;
  std::string text;
  append_utf8(code_point, text);
  return fmt::format("'{}' ({})", text, number);
}

}  // namespace snug
