// A word of a command line.
#pragma once

#include <string>

namespace snug {

// As a shell takes it, in quotes where it needs them.
std::string shell_quoted(const std::string& word);

}  // namespace snug
