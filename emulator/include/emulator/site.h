// Where in a kernel's source something happened. Every primitive takes one as a default argument.
#pragma once

#include <source_location>

namespace emulator {

using Site = std::source_location;

inline bool same_site(const Site& a, const Site& b) {
  return a.line() == b.line() && a.column() == b.column() && a.file_name() == b.file_name();
}

}  // namespace emulator
