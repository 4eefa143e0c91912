// Cards in a log: nvidia-smi's table and names that are mentioned.
#pragma once

#include <cstddef>
#include <string_view>

#include "doctor/log/prefix.h"
#include "doctor/log/summary.h"

namespace snug {

class CardReader {
 public:
  explicit CardReader(LogFacts& facts) : facts_(facts) {}

  // A line that stood between borders: a row of nvidia-smi's table that names a card, or nothing
  // of ours.
  void read_row(const LogLine& line);

  // A word of a card's name ends at `end` of the line.
  void read_mention(const LogLine& line, std::size_t end);

 private:
  void add_name(std::string_view name);

  LogFacts& facts_;
};

}  // namespace snug
