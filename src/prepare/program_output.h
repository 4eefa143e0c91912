// Another program's standard output, up to a limit, and what it complained about.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace snug::prepare {

struct ProgramOutput {
  int start_error = 0;    // errno where it could not be started, and nothing else here counts;
                          // ENOENT: it is not installed
  int exit_code = 0;      // 128: it was ended by a signal
  std::string bytes;      // of its standard output
  bool is_cut = false;    // it had more than the limit, and was ended
  bool is_late = false;   // it was not done in time, and was ended
  std::string complaint;  // the line of its standard error that tells most
};

struct ProgramLimits {
  std::size_t bytes = 0;
  std::chrono::milliseconds time{0};
};

// Looks the program up in PATH. Throws DeviceError when there is no pipe to hear it by.
ProgramOutput run_program(const std::vector<std::string>& words, const ProgramLimits& limits);

}  // namespace snug::prepare
