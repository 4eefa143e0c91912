// The arguments of a command that takes names and a few options, not a config: --name=value and
// --flag in any place, the rest in order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/cli.h"

namespace snug::cli {

class OptionReader {
 public:
  // `command` is for messages: "prepare bpe". A single "-" is a name.
  OptionReader(std::string command, Arguments arguments);

  // The value of --name=..., the last one given. Those that it overrides are checked like it, an
  // empty one above all: a slip is told wherever it stands. So for the three kinds below.
  std::optional<std::string> value(const std::string& name);
  bool flag(const std::string& name);
  // The index of the value among `words`; throws ConfigError, listing them, for another one.
  std::optional<std::size_t> choice(const std::string& name, const std::vector<std::string>& words);
  // A whole number of at least `minimum`.
  std::optional<std::int64_t> number(const std::string& name, std::int64_t minimum);
  // "0.0005" or "10%", above 0 and below 1.
  std::optional<double> share(const std::string& name);

  // What is left. Throws ConfigError for an option that nobody asked for.
  std::vector<std::string> names();

 private:
  [[noreturn]] void fail(const std::string& what) const;
  // Every value of --name=..., in order; they are no arguments any more.
  std::vector<std::string> take_values(const std::string& name);

  std::string command_;
  std::vector<std::string> arguments_;
  std::vector<std::string> known_;
};

}  // namespace snug::cli
