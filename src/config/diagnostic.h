// Messages that point at a place in a source: the usual three-line error, with the source line and
// a caret under the value.
#pragma once

#include <string>
#include <string_view>

#include "config/config.h"

namespace snug::config {

// A problem found by code that does not know the place. Thrown as is, and turned into a ConfigError
// by the caller that does.
struct Fault {
  std::string what;
  std::string advice;
};

// "file:line: what", the line, the carets, the advice; without a source only the words.
std::string pointed_message(const Origin& origin, const Fault& fault);
[[noreturn]] void throw_at(const Origin& origin, const Fault& fault);

// The name of an origin for people: "config/mine.py:7", "--n_head=12", "checkpoint", "default".
std::string origin_name(const Origin& origin);

bool is_utf8(std::string_view text);

// The code points of valid UTF-8, that is its columns on a terminal for most scripts.
std::size_t column_count(std::string_view text);

constexpr std::size_t kArgumentColumns = 60;  // shown of an argument

// At most `columns` wide, cut at the end with "...".
std::string shortened(std::string_view text, std::size_t columns);

}  // namespace snug::config
