// Which Snug this is: version, commit, and what was compiled in.
#pragma once

#include <string>

namespace snug::cli {

// "0.1.0", and "0.1.0 (059bf1c2ab)" where the commit is known.
std::string version_name();

// What `snug --version` prints.
std::string version_text();

}  // namespace snug::cli
