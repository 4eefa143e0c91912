// What is fuzzed: any bytes through a whole path of the program, within this process and without
// touching a disk. Both return normally whatever the bytes; errors that a user would be told are
// expected and dropped. An InternalError, a broken promise of a header or any other exception
// escapes.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace snug {

// How far a log goes. Each step takes some ten times as long as the one before.
enum class LogDepth {
  kDiagnosis,  // read, settings taken from it, diagnosed without a model
  kReport,     // and told as text and JSON
  kModel,      // diagnosed with the run that it shows
  kFixes,      // and told with its fixes and as a page, as `snug doctor --log=` does
};
void fuzz_log(std::string_view bytes, LogDepth depth);

// Goes as deep as the length of the input says: most go a short way.
void fuzz_log(std::string_view bytes);

// A config file: read, resolved, echoed, rewritten. Bytes that begin with "--" are a command line,
// an argument per line.
void fuzz_config(std::string_view bytes);

inline void require(bool holds, std::string_view promise) {
  if (!holds) throw std::logic_error("broken promise: " + std::string(promise));
}

}  // namespace snug
