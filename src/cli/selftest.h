// `snug selftest`.
#pragma once

#include <string>

#include "cli/cli.h"

namespace snug::cli {

int selftest_command(Arguments arguments);
std::string selftest_help();

}  // namespace snug::cli
