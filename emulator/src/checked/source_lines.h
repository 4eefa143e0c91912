// Places in the source for addresses of the program's code, by addr2line.
#pragma once

#include <cstdint>
#include <string>

namespace emulator {

// A code address as an offset that fits a stamp, and back.
std::uint32_t code_place(const void* program_counter);
// "norm.cu:55", with the callers that were inlined: "packed.cuh:18 from norm.cu:55".
std::string source_line(std::uint32_t place);

}  // namespace emulator
