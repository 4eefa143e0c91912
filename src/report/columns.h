// Text in terminal columns: Chinese and Japanese characters take two. Lines break at blanks and
// between wide characters, but not before a closing mark or after an opening one.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace snug::report {

// 0 for combining marks, 2 for wide and full-width characters, else 1.
int columns_of(char32_t character) noexcept;
std::size_t columns_of(std::string_view text);

// Lines of at most `columns`; a word that is longer stays whole on a line of its own. A number and
// its unit ("6.14 GiB"), a setting ("n_head = 8") and code in backticks stay together. '\n' in the
// text breaks too. At least one line.
std::vector<std::string> wrapped(std::string_view text, std::size_t columns);

// Blanks up to `columns`, after or before the text.
std::string left(std::string_view text, std::size_t columns);
std::string right(std::string_view text, std::size_t columns);

// Valid UTF-8 on one line: U+FFFD for bytes that are none, blanks for control characters. What a
// log holds cannot move a terminal's cursor then.
std::string clean(std::string_view text);

}  // namespace snug::report
