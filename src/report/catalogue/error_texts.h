// Errors and notices of the folders below in the reader's language. They are thrown in English,
// since only `report` knows languages; their lines are the keys of a table here.
#pragma once

#include <array>
#include <span>
#include <string>

#include "report/catalogue/messages.h"

namespace snug::report {

// Line by line; a line that is not in the table stays as it is. Source lines, names and keys stay.
std::string translated(Language language, const std::string& message);

// The rows, English first; of those that match a line the one with the most text of its own counts.
// What is said of settings, cards and plans; of config files, arguments and models to start from;
// of checkpoints; of files and disks; of data sets; of other programs' checkpoints; of a run and
// the options of commands.
std::span<const Texts> error_line_table();
std::span<const Texts> config_line_table();
std::span<const Texts> checkpoint_line_table();
std::span<const Texts> file_line_table();
std::span<const Texts> data_line_table();
std::span<const Texts> format_line_table();
std::span<const Texts> run_line_table();
std::array<std::span<const Texts>, 7> all_line_tables();

}  // namespace snug::report
