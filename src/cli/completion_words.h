// What a shell can offer after `snug`, read from the help texts and the table of keys: what a
// command's help does not show is not offered for it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/cli.h"

namespace snug::cli {

struct CommandWords {
  std::string name, summary;
  std::vector<std::string> words;    // that may follow it: "bpe", "char"
  std::vector<std::string> options;  // "--json", "--html=": '=' where a value follows
};

// In the order of `snug --help`; `help` is the last.
std::vector<CommandWords> command_words(std::span<const CommandRow> rows);

struct KeyValues {
  std::string option;  // "--dtype"
  std::vector<std::string> values;
};

// The options whose values are few and known: True and False, choices, cards.
std::vector<KeyValues> known_values();

}  // namespace snug::cli
