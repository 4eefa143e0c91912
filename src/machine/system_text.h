// The files of /proc and /sys, which have no size before they are read.
#pragma once

#include <fstream>
#include <iterator>
#include <string>

namespace snug::machine {

// Empty where there is none.
inline std::string system_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace snug::machine
