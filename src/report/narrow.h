// Reports are composed for eighty columns. On a terminal with fewer they are laid out again, line
// by line, so that it is not the terminal that breaks them in the middle of a word.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace snug::report {

// Sentences break at blanks, beside their label where that is short; what else a row has no room
// for goes on under its first field; bars keep their proportions or go. Lines that fit stay as they
// are, and so do commands, which are to be copied as one line. Colours take no columns.
std::string narrowed(std::string_view text, std::size_t columns);

}  // namespace snug::report
