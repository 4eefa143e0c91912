// Runs every launch twice, as g++ compiled the kernel and as nvcc's PTX tells it, from the same
// memory, and compares all of the card's memory afterwards. Any test of kernels becomes a test of
// the compiler's real output (and of inline assembly) that way.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace emulator::ptx {

struct Comparison {
  std::uint64_t launches = 0;
  std::uint64_t words = 0, different = 0;  // 4-byte words that either run changed
  bool exact = false;                      // no instruction whose result PTX only bounds
  std::string problem;                     // the first difference that is too large, or what failed
};

// Loads nvcc's text, but for kernels that only trap; throws std::runtime_error for what cannot be
// parsed or run.
void load_ptx(const std::string& text);
// Every kernel that is in the loaded text, or that was launched. One without a launch was not
// compared; one without text says so in `problem`.
std::map<std::string, Comparison> comparisons();

}  // namespace emulator::ptx
