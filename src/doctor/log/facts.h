// Facts of a run that a log shows line by line: how large the model is and how far nanoGPT came, by
// its own lines; PyTorch's version; cards, by nvidia-smi's table and by name.
#pragma once

#include <cstddef>
#include <string_view>

#include "doctor/log/prefix.h"
#include "doctor/log/summary.h"

namespace snug::doctor::log {

// Reads the line into the facts if nanoGPT's train.py or model.py prints such a line.
void read_progress(std::string_view line, LogFacts& facts);

// "torch" ends at `end` of the line: takes the version if one follows ("PyTorch version: 2.3.1",
// "torch==2.1.0+cu118", "PyTorch 2.9.1"). The first one stays, unless a later one says it more
// precisely.
void read_torch_version(std::string_view line, std::size_t end, LogFacts& facts);

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

}  // namespace snug::doctor::log
