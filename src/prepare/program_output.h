// Another program's standard output, up to a limit, and what it complained about.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace snug::prepare {

struct ProgramOutput {
  bool is_installed = true;  // false: there is no such program, and nothing else here counts
  int exit_code = 0;         // 128: it was ended by a signal
  std::string bytes;         // of its standard output
  bool is_cut = false;       // it had more than the limit, and was ended
  std::string complaint;     // the line of its standard error that tells most
};

// Looks the program up in PATH.
ProgramOutput run_program(const std::vector<std::string>& words, std::size_t most_bytes);

}  // namespace snug::prepare
