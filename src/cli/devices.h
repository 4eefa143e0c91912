// The commands that look at what there is now: `snug devices` once, `snug watch` again and again.
#pragma once

#include <string>

#include "cli/cli.h"

namespace snug::cli {

int devices_command(Arguments arguments);
int watch_command(Arguments arguments);
std::string devices_help();
std::string watch_help();

}  // namespace snug::cli
