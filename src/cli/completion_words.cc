#include "cli/completion_words.h"

#include <algorithm>
#include <cctype>
#include <sstream>

#include "config/fields.h"
#include "fit/cards.h"

namespace snug::cli {
namespace {

constexpr std::string_view kOptionCharacters = "abcdefghijklmnopqrstuvwxyz0123456789_-";

// "--html=" of "--html=FILE     also a page"; "" where no option begins.
std::string option_at(std::string_view text) {
  if (!text.starts_with("--") || text.size() < 3 ||
      std::islower(static_cast<unsigned char>(text[2])) == 0) {
    return "";
  }
  std::size_t end = std::min(text.find_first_not_of(kOptionCharacters), text.size());
  if (end < text.size() && text[end] == '=') ++end;
  return std::string(text.substr(0, end));
}

void add_once(std::vector<std::string>& words, std::string word) {
  if (!word.empty() && std::ranges::find(words, word) == words.end()) {
    words.push_back(std::move(word));
  }
}

// The options of the left column, "  --html=FILE     also a page", and of a usage line, "[--json]".
void add_options(std::string_view line, std::vector<std::string>& options) {
  for (std::size_t at = line.find('['); at != line.npos; at = line.find('[', at + 1)) {
    add_once(options, option_at(line.substr(at + 1)));
  }
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  if (!line.starts_with("--")) return;
  line = line.substr(0, line.find("  "));
  for (std::size_t at = 0; at < line.size(); at = std::min(line.find(" --", at), line.size())) {
    at += line[at] == ' ' ? 1 : 0;
    add_once(options, option_at(line.substr(at)));
  }
}

// Of "snug completion bash|zsh|fish" the three; a word in capitals stands for something else.
void add_words(const std::string& line, const std::string& name, std::vector<std::string>& words) {
  std::istringstream rest(line.substr(std::min(line.size(), name.size() + 6)));
  for (std::string token; rest >> token;) {
    if (token.find_first_not_of(std::string(kOptionCharacters) + "|") != token.npos ||
        token.starts_with('-')) {
      return;
    }
    std::istringstream parts(token);
    for (std::string word; std::getline(parts, word, '|');) add_once(words, word);
  }
}

CommandWords words_of(const CommandRow& row) {
  CommandWords result{row.name, row.summary, {}, {}};
  std::istringstream help(row.help());
  bool takes_keys = false;
  for (std::string line; std::getline(help, line);) {
    if (line.starts_with("snug " + result.name)) {
      takes_keys = takes_keys || line.find("[--key=value") != line.npos;
      add_words(line, result.name, result.words);
    }
    add_options(line, result.options);
  }
  std::erase(result.options, "--key=");
  if (takes_keys && std::ranges::find(result.options, "--n_layer=") == result.options.end()) {
    const bool samples = result.name == "sample";  // whose help lists what it uses
    for (const config::Field& field : config::all_fields()) {
      if (!samples && !field.is_ignored()) {
        add_once(result.options, "--" + std::string(field.key) + "=");
      }
    }
  }
  add_once(result.options, "--help");
  return result;
}

// Of "auto, cuda:N, 12GiB, ./PATH" what can be typed as it stands: "auto".
std::vector<std::string> choices_in(std::string_view text) {
  std::vector<std::string> choices;
  std::istringstream parts{std::string(text)};
  for (std::string word; parts >> word;) {
    if (word.ends_with(',')) word.pop_back();
    if (word.find_first_not_of(kOptionCharacters) == word.npos) choices.push_back(word);
  }
  return choices;
}

}  // namespace

std::vector<CommandWords> command_words(std::span<const CommandRow> rows) {
  std::vector<CommandWords> all;
  CommandWords help{"help", "the help of a command", {}, {}};
  for (const CommandRow& row : rows) {
    all.push_back(words_of(row));
    help.words.push_back(row.name);
  }
  all.push_back(std::move(help));
  return all;
}

std::vector<KeyValues> known_values() {
  std::vector<KeyValues> all;
  for (const config::Field& field : config::all_fields()) {
    std::vector<std::string> values;
    if (field.is_bool()) values = {"True", "False"};
    if (field.is_string()) values = choices_in(field.limit.text);
    if (field.key == "card") {
      for (const fit::Card& card : fit::all_cards()) values.emplace_back(card.key);
    }
    if (!values.empty() && !field.is_ignored()) {
      all.push_back({"--" + std::string(field.key), std::move(values)});
    }
  }
  all.push_back({"--progress", {"bar", "plain", "none"}});
  return all;
}

}  // namespace snug::cli
