// Errors and notices of the folders below in the reader's language. They are thrown in English,
// since only `report` knows languages; their lines are the keys of a table here.
#pragma once

#include <span>
#include <string>

#include "report/catalogue/messages.h"

namespace snug::report {

// Line by line; a line that is not in the table stays as it is. Source lines, names and keys stay.
std::string translated(Language language, const std::string& message);

// For tests: every line, English first.
std::span<const Texts> error_line_table();
// Those of config files, arguments, models to start from and commands.
std::span<const Texts> config_line_table();

}  // namespace snug::report
