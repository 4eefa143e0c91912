// Small pieces that every report is made of.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace snug::report {

// In a colour of the terminal ("1;32"), if there is colour at all.
std::string painted(bool color, const char* code, std::string_view text);

// "██▌": the share of `max_bytes` in eighths of a cell, at least one; nothing for nothing.
std::string bar(std::int64_t bytes, std::int64_t max_bytes, int cells);

// "+14%", "-2%", "0%": a ratio as a change.
std::string change_text(double ratio);

// For text and double-quoted attributes. What is not UTF-8 is left to the browser, which shows it
// as a replacement character.
std::string escape_html(std::string_view text);

}  // namespace snug::report
