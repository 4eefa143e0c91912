// `snug prepare bpe`, and what the built-in data sets share with it.
#pragma once

#include "cli/cli.h"
#include "prepare/options.h"

namespace snug::cli {

int prepare_bpe_command(Arguments arguments);  // after "prepare bpe"
int prepare_shakespeare_command(Arguments arguments, bool characters);

// Prepares with a line of progress, and prints the summary.
void run_prepare_bpe(const prepare::BpeOptions& options);

}  // namespace snug::cli
