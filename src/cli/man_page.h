// The man page, made from the help texts: there is no second copy of them.
#pragma once

#include <string>

namespace snug::cli {

// troff with the man macros: an overview, then a section for each command.
std::string man_page();

}  // namespace snug::cli
