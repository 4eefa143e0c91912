// The command line: one function per command, errors mapped to exit codes in one place.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "console/console.h"
#include "report/catalogue/messages.h"

namespace snug::cli {

// Never throws. Exit codes: base/error.h.
int run_cli(int argc, char** argv);

using Arguments = std::span<const std::string>;

// What follows the command's name. Each may throw what base/error.h knows.
int train_command(Arguments arguments);
int plan_command(Arguments arguments);
int sample_command(Arguments arguments);
int prepare_command(Arguments arguments);
int tokenize_command(Arguments arguments);
int data_command(Arguments arguments);
int plot_command(Arguments arguments);
int config_command(Arguments arguments);
int bench_command(Arguments arguments);
int cards_command(Arguments arguments);
int doctor_command(Arguments arguments);
int completion_command(Arguments arguments);
int verify_command(Arguments arguments);

struct CommandRow {
  const char* name;
  const char* summary;
  int (*run)(Arguments);
  std::string (*help)();
  // Those that take settings have --lang among them; for the others it is taken out before.
  bool takes_settings = false;
  std::string (*help_in)(report::Language) = nullptr;  // where it is in all languages
};
std::span<const CommandRow> commands();

// Takes a bare flag such as --json out of the arguments.
bool take_flag(std::vector<std::string>& arguments, const std::string& flag);

// Takes --progress=bar|plain|none and --quiet out of the arguments. Throws ConfigError.
console::Progress take_progress(std::vector<std::string>& arguments);

// Takes --profile=FILE out of the arguments; empty without it. Throws ConfigError.
std::string take_profile(std::vector<std::string>& arguments);

// Whether a report on standard output is coloured: `color` is the key's auto, always or never.
bool wants_color(const std::string& color);

// A report to standard output, laid out anew where a terminal is narrower than it.
void print_report(const std::string& text);

// True when -h or --help is among them.
bool asks_for_help(Arguments arguments);

}  // namespace snug::cli
