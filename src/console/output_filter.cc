#include "console/output_filter.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <optional>

#include "base/own_colour.h"

namespace snug::console {
namespace {

constexpr char kEscape = '\033';
constexpr std::size_t kLongestColour = 16;  // bytes of "\033[38;5;208m" and the like, unmarked

bool is_colour_byte(char c) { return (c >= '0' && c <= '9') || c == ';'; }

// Length of the colour that `text` starts with; 0: it is none; nothing: it may become one.
std::optional<std::size_t> colour_length(std::string_view text) {
  if (text.size() < 2) return std::nullopt;
  if (text[1] != '[') return 0;
  const std::size_t longest = kLongestColour + own_colour_mark().size();
  for (std::size_t i = 2; i < std::min(text.size(), longest); ++i) {
    if (text[i] == 'm') return i + 1;
    if (!is_colour_byte(text[i])) return 0;
  }
  return text.size() < longest ? std::optional<std::size_t>() : 0;
}

std::string visible(std::uint32_t code_point) {
  return code_point < 0x100 ? fmt::format("\\x{:02x}", code_point)
                            : fmt::format("\\u{:04x}", code_point);
}

// What is shown of a whole colour: ours without its mark; one of someone else's text is visible.
std::string shown_colour(std::string_view colour) {
  const std::string& mark = own_colour_mark();
  if (mark.empty()) return std::string(colour);
  const std::string_view codes = colour.substr(0, colour.size() - 1);
  if (codes.ends_with(mark)) return fmt::format("{}m", codes.substr(0, codes.size() - mark.size()));
  return visible(kEscape) + std::string(colour.substr(1));
}

struct Character {
  std::uint32_t code_point = 0;
  std::size_t length = 0;  // 0: not UTF-8; more than there is: cut off
};

Character decode(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {first, 1};
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4) return {};
  std::uint32_t code_point = first & (0x7F >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if (i == text.size()) return {0, length};
    if ((byte(i) & 0xC0) != 0x80) return {};
    code_point = code_point << 6 | (byte(i) & 0x3F);
  }
  constexpr std::array<std::uint32_t, 5> kMin = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code_point >= 0xD800 && code_point < 0xE000;
  if (code_point < kMin[length] || code_point > 0x10FFFF || surrogate) return {};
  return {code_point, length};
}

// Controls, and the marks that reorder what follows (Unicode TR 9).
bool is_hidden(std::uint32_t c) {
  return (c < 0x20 && c != '\n' && c != '\t') || (c >= 0x7F && c < 0xA0) || c == 0x200E ||
         c == 0x200F || (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

struct Stream {
  int descriptor;
  OutputFilter filter;
};

bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

ssize_t write_filtered(void* cookie, const char* bytes, std::size_t count) {
  auto& stream = *static_cast<Stream*>(cookie);
  const std::string text = stream.filter.pass({bytes, count});
  return write_all(stream.descriptor, text) ? static_cast<ssize_t>(count) : 0;
}

// In place of a stream of the C library, which lives as long as the program.
std::FILE* filtered(Stream& stream, int buffering) {
  cookie_io_functions_t functions{};
  functions.write = write_filtered;
  std::FILE* file = ::fopencookie(&stream, "w", functions);
  if (file != nullptr) std::setvbuf(file, nullptr, buffering, BUFSIZ);
  return file;
}

}  // namespace

std::string OutputFilter::pass(std::string_view piece) {
  pending_ += piece;
  std::string out;
  std::size_t at = 0;
  while (at < pending_.size()) {
    const std::string_view rest = std::string_view(pending_).substr(at);
    if (rest[0] == kEscape) {
      const auto length = colour_length(rest);
      if (!length) break;
      out += *length > 0 ? shown_colour(rest.substr(0, *length)) : visible(kEscape);
      at += std::max<std::size_t>(*length, 1);
      continue;
    }
    const Character character = decode(rest);
    if (character.length > rest.size()) break;
    if (character.length == 0) {
      out += visible(static_cast<unsigned char>(rest[0]));
    } else if (is_hidden(character.code_point)) {
      out += visible(character.code_point);
    } else {
      out += rest.substr(0, character.length);
    }
    at += std::max<std::size_t>(character.length, 1);
  }
  pending_.erase(0, at);
  return out;
}

std::string OutputFilter::finish() {
  std::string out;
  for (const char c : pending_) out += visible(static_cast<unsigned char>(c));
  pending_.clear();
  return out;
}

std::string shown(std::string_view text) {
  OutputFilter filter;
  std::string out = filter.pass(text);
  return out + filter.finish();
}

void filter_standard_output() {
  mark_own_colours();
  // Never destroyed: the C library may flush them after all destructors.
  static Stream &out = *new Stream{STDOUT_FILENO, {}}, &err = *new Stream{STDERR_FILENO, {}};
  const bool terminal = ::isatty(STDOUT_FILENO) == 1;
  if (std::FILE* file = filtered(out, terminal ? _IOLBF : _IOFBF)) stdout = file;
  if (std::FILE* file = filtered(err, _IONBF)) stderr = file;
}

bool put_unfiltered(std::FILE* stream, std::string_view text) {
  return std::fflush(stream) == 0 &&
         write_all(stream == stderr ? STDERR_FILENO : STDOUT_FILENO, text);
}

}  // namespace snug::console
