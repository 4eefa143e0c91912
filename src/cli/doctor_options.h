// The arguments of `snug doctor`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/catalogue/messages.h"

namespace snug::cli {

struct DoctorOptions {
  std::optional<std::string> log;  // a path, or "-" for standard input
  std::optional<std::string> snapshot;
  std::optional<std::string> write;  // where the corrected config goes
  std::optional<std::string> html;
  report::Language language = report::Language::kEnglish;
  bool json = false, explain = false, older_pytorch = false;
  std::vector<std::string> config;  // config files and --key=value, as `plan` takes them
};

// A log or a snapshot may be named without its option, known by its ending: oom.log becomes
// --log=oom.log.
std::vector<std::string> with_file_options(std::vector<std::string> arguments);

// Throws ConfigError for neither config nor log nor snapshot, for both of these, an option without
// its value, an unknown --lang or --torch: in the language that --lang names, else in that of
// `locale` (may be null).
DoctorOptions doctor_options(const std::vector<std::string>& arguments, const char* locale);

}  // namespace snug::cli
