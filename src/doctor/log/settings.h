// Settings of a run as its log shows them: echoed config files, overrides, command lines, the
// allocator's environment, and keys that are mentioned in passing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "doctor/log/prefix.h"
#include "doctor/log/summary.h"

namespace snug::doctor::log {

class SettingsReader {
 public:
  explicit SettingsReader(LogFacts& facts) : facts_(facts) {}

  // Every line: nanoGPT's "Overriding ..." lines, and what follows them.
  void read_line(const LogLine& line);

  // A known key ends at `end` of the line: key=value, key = value or 'key': value.
  void read_mention(const LogLine& line, std::size_t end);

  // A line with "train.py" or "torchrun" in it.
  void read_command(const LogLine& line);

  // PYTORCH_CUDA_ALLOC_CONF (the name ends at `end`) set to something. `before` is the end of the
  // line before, where the advice of PyTorch's own message may have begun.
  void read_alloc_conf(const LogLine& line, std::size_t end, std::string_view before);

  // Whether the line read last is part of an echoed config file.
  bool is_in_echo() const noexcept { return echo_lines_ > 0; }

 private:
  void add(LogSetting setting);
  void read_echo(const LogLine& line);
  void read_override(std::string_view rest, std::int64_t line);
  void read_word(std::string_view word, std::string_view& open_key, std::int64_t line);
  void add_option(std::string_view key, std::string_view value, std::int64_t line);
  void add_config_file(std::string_view name);

  LogFacts& facts_;
  std::vector<std::string> echoed_files_;
  bool keeps_echo_ = false;
  int echo_lines_ = 0;       // how many more lines of an echoed file may follow
  bool is_command_ = false;  // the line before ended in a backslash
  std::int64_t process_count_ = 0, node_count_ = 1;
};

}  // namespace snug::doctor::log
