// The arguments of `snug doctor`.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace snug {

struct DoctorOptions {
  std::optional<std::string> log;    // a path, or "-" for standard input
  std::optional<std::string> write;  // where the corrected config goes
  std::optional<std::string> html;
  std::string lang;
  bool json = false, explain = false, older_pytorch = false;
  std::vector<std::string> config;  // config files and --key=value, as `plan` takes them
};

// Throws ConfigError for an option without its value, or an unknown --torch.
DoctorOptions doctor_options(const std::vector<std::string>& arguments);

}  // namespace snug
