#include "config/diagnostic.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace snug::config {
namespace {

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// One column per character: tabs become spaces, other control characters question marks.
std::string printable(std::string_view text) {
  std::string shown(text);
  for (char& c : shown) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\t') c = ' ';
    if (byte < 0x20 || byte == 0x7F) c = c == ' ' ? ' ' : '?';
  }
  return shown;
}

std::string where(const Origin& origin) {
  switch (origin.kind) {
    case Origin::Kind::kFile:
      return fmt::format("{}:{}: ", printable(origin.file), origin.line);
    case Origin::Kind::kCommandLine:
      return "command line: ";
    case Origin::Kind::kCheckpoint:
      return "checkpoint: ";
    case Origin::Kind::kFit:
      return "fit: ";
    case Origin::Kind::kDefault:
      break;
  }
  return "";
}

// Length of the UTF-8 sequence at the start of `text`, 0 if it is not one.
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return 1;
  const std::size_t length = byte(0) >= 0xF0 && byte(0) <= 0xF4 ? 4
                             : byte(0) >= 0xE0                  ? 3
                             : byte(0) >= 0xC2                  ? 2
                                                                : 0;
  if (byte(0) > 0xF4 || length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if (!is_continuation(text[i])) return 0;
  }
  const bool overlong = (byte(0) == 0xE0 && byte(1) < 0xA0) || (byte(0) == 0xF0 && byte(1) < 0x90);
  const bool surrogate = byte(0) == 0xED && byte(1) >= 0xA0;
  const bool too_high = byte(0) == 0xF4 && byte(1) >= 0x90;
  return overlong || surrogate || too_high ? 0 : length;
}

}  // namespace

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::size_t column_count(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !is_continuation(c); }));
}

std::string shortened(std::string_view text, std::size_t columns) {
  if (column_count(text) <= columns) return std::string(text);
  std::size_t end = 0;
  for (std::size_t shown = 0; end < text.size(); ++end) {
    if (!is_continuation(text[end]) && shown++ + 3 >= columns) break;
  }
  return std::string(text.substr(0, end)) + "...";
}

std::string pointed_message(const Origin& origin, const Fault& fault) {
  std::string message = where(origin) + fault.what;
  if (origin.width > 0) {
    const std::string_view text = origin.text;
    const std::size_t begin = std::min(static_cast<std::size_t>(origin.column), text.size());
    const std::string_view marked = text.substr(begin, static_cast<std::size_t>(origin.width));
    message += fmt::format("\n    {}\n    {:{}}{}", printable(text), "",
                           column_count(text.substr(0, begin)),
                           std::string(std::max<std::size_t>(1, column_count(marked)), '^'));
  }
  if (!fault.advice.empty()) message += "\n" + fault.advice;
  return message;
}

void throw_at(const Origin& origin, const Fault& fault) {
  throw ConfigError(pointed_message(origin, fault));
}

std::string origin_name(const Origin& origin) {
  switch (origin.kind) {
    case Origin::Kind::kFile:
      return fmt::format("{}:{}", printable(origin.file), origin.line);
    case Origin::Kind::kCommandLine:
      return shortened(printable(origin.text), kArgumentColumns);
    case Origin::Kind::kCheckpoint:
      return "checkpoint";
    case Origin::Kind::kFit:
      return "fit";
    case Origin::Kind::kDefault:
      break;
  }
  return "default";
}

}  // namespace snug::config
