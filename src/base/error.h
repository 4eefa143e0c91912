// The one family of exceptions. Each carries the exit code that the command line returns for it.
// A message has up to three lines: what is wrong and where; what was expected and found; what to
// do.
#pragma once

#include <stdexcept>
#include <string>

namespace snug {

enum class ExitCode : int {
  kDone = 0,
  kInternal = 1,    // a bug in Snug
  kUsage = 2,       // wrong usage or config
  kDoesNotFit = 3,  // over the memory budget
  kData = 4,        // bad or missing data, checkpoint, log
  kDevice = 5,      // device or system failure
};

class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ExitCode code() const noexcept { return code_; }

 private:
  ExitCode code_;
};

struct ConfigError : Error {
  explicit ConfigError(const std::string& m) : Error(ExitCode::kUsage, m) {}
};
struct CapacityError : Error {
  explicit CapacityError(const std::string& m) : Error(ExitCode::kDoesNotFit, m) {}
};
struct DataError : Error {
  explicit DataError(const std::string& m) : Error(ExitCode::kData, m) {}
};
struct DeviceError : Error {
  explicit DeviceError(const std::string& m) : Error(ExitCode::kDevice, m) {}
};
struct InternalError : Error {
  explicit InternalError(const std::string& m) : Error(ExitCode::kInternal, m) {}
};

}  // namespace snug
