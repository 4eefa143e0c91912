#include "report/shell_command.h"

#include <fmt/format.h>

#include "report/columns.h"

namespace snug::report {
namespace {

constexpr std::size_t kCommandColumns = 80;
constexpr std::string_view kIndent = "  ", kGoesOn = " \\";

}  // namespace

std::vector<std::string> command_lines(const std::vector<std::string>& words, std::size_t columns) {
  std::vector<std::string> lines;
  for (const std::string& word : words) {
    if (lines.empty()) {
      lines.push_back(word);
      continue;
    }
    std::string& line = lines.back();
    if (columns_of(line) + 1 + columns_of(word) + kGoesOn.size() > columns) {
      line += kGoesOn;
      lines.push_back(fmt::format("{}{}", kIndent, word));
    } else {
      line += fmt::format(" {}", word);
    }
  }
  return lines;
}

std::string wrapped_command(const std::string& label, const std::vector<std::string>& words) {
  const std::size_t label_columns = columns_of(label);
  std::string text, begin = label;
  for (const std::string& line : command_lines(words, kCommandColumns - label_columns)) {
    text += fmt::format("{}{}\n", begin, line);
    begin.assign(label_columns, ' ');
  }
  return text.empty() ? fmt::format("{}\n", label) : text;
}

}  // namespace snug::report
