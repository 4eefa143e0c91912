// `snug convert` and `snug eval`: checkpoints from one program to another, and the check of that.
#pragma once

#include "cli/cli.h"

namespace snug::cli {

int convert_command(Arguments arguments);
int eval_command(Arguments arguments);
std::string convert_help();
std::string eval_help();

}  // namespace snug::cli
