// Commands to copy, broken so that a shell takes their lines as one. Words are quoted before, by
// base/shell_word.h.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace snug::report {

// Lines of at most `columns`, broken between words: all but the last end in a backslash, all but
// the first begin with two blanks. A word that is longer stays whole.
std::vector<std::string> command_lines(const std::vector<std::string>& words, std::size_t columns);

// The label and the command after it, eighty columns wide.
std::string wrapped_command(const std::string& label, const std::vector<std::string>& words);

}  // namespace snug::report
