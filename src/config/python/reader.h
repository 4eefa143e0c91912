// Reads nanoGPT's config files: the Python subset that people write in them. Nothing is executed;
// names are settings, or helper variables that live for the whole reading, as in nanoGPT.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "config/config.h"
#include "config/python/tree.h"
#include "config/source_file.h"
#include "config/value.h"

namespace snug::config::python {

class PythonReader {
 public:
  // Settings are stored to `config`, which must outlive the reader.
  explicit PythonReader(LoadedConfig& config) : config_(config) {}

  // Throws ConfigError, also at a setting of the wrong type. Ranges are checked by resolve().
  void read(const SourceFile& source);

  // After the last file: a helper that nobody read is an error when its name looks like a mistyped
  // setting, and a notice otherwise.
  void finish();

 private:
  void run(const Assignment& assignment, const SourceFile& source);
  void store(const AssignmentTarget& target, const Value& value, const Expression& expression,
             const SourceFile& source);
  Value lookup(std::string_view name) const;

  struct Helper {
    Value value;
    Origin origin;
  };

  LoadedConfig& config_;
  std::map<std::string, Helper, std::less<>> helpers_;
  std::set<std::string, std::less<>> names_read_;
};

// The value of a literal as on nanoGPT's command line (a number with an optional sign, a string,
// True, False, None, a list or tuple); nothing when the text is none.
std::optional<Value> read_literal(std::string_view text);

}  // namespace snug::config::python
