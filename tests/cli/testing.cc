// What the tests of the program share and what is slow to compile: regular expressions and JSON's
// parser.
#include "cli/testing.h"

#include <cstdint>
#include <iterator>
#include <regex>

namespace snug {

std::string small_text() {
  const char* const words[] = {"the", "cat", "sat", "on",   "a",    "mat",   "and",  "saw",
                               "one", "big", "dog", "jump", "over", "quiet", "water"};
  std::string text;
  std::uint32_t state = 1;
  for (int i = 0; i < 2000; ++i) {
    state = state * 1664525u + 1013904223u;
    text += words[(state >> 16) % std::size(words)];
    text += i % 9 == 8 ? ".\n" : " ";
  }
  return text;
}

Words lines_like(const std::string& text, const std::string& pattern) {
  const std::regex expression(pattern);
  Words found;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (std::regex_match(line, expression)) found.push_back(line);
  }
  return found;
}

nlohmann::json parsed_json(const std::string& text) {
  return nlohmann::json::parse(text, nullptr, false);
}

}  // namespace snug
