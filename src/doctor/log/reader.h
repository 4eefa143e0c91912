// Reads a training log.
#pragma once

#include <cstdint>
#include <istream>
#include <string>

#include "base/error.h"
#include "doctor/log/summary.h"

namespace snug::doctor::log {

enum class LogProblem : std::uint8_t {
  kMissing,
  kIsFolder,
  kCannotRead,
  kEmpty,
  kSaysNothing,     // of memory, an error or a run
  kShowsNoFailure,  // and there is no config either
};

// Why a log gives no answer, as data: the report has the sentences.
struct LogError : DataError {
  LogError(LogProblem why, std::string file) : DataError(file), problem(why), path(file) {}
  LogError(LogProblem why, const LogSummary& log)
      : DataError("log"), problem(why), line_count(log.line_count), byte_count(log.byte_count) {}

  LogProblem problem;
  std::string path;             // where it could not be read
  std::int64_t line_count = 0;  // where it was read
  std::int64_t byte_count = 0;
};

// Reads the stream to its end. Any bytes are tolerated; memory stays bounded (a few MiB) whatever
// the length of the log or of its lines. Never throws for what the log holds.
LogSummary read_log(std::istream& stream);

// Throws LogError where there is no file to read, or nothing in it.
LogSummary read_log_file(const std::string& path);

}  // namespace snug::doctor::log
