#include "cli/man_page.h"

#include <fmt/format.h>

#include <cctype>
#include <sstream>

#include "cli/cli.h"
#include "cli/help.h"
#include "cli/version.h"

namespace snug::cli {
namespace {

// A line as troff shows it: no request at its beginning, no escape inside, dashes that can be
// copied.
std::string as_troff(std::string_view line) {
  std::string text = line.starts_with('.') || line.starts_with('\'') ? "\\&" : "";
  for (const char c : line) {
    if (c == '\\') {
      text += "\\e";
    } else if (c == '-') {
      text += "\\-";
    } else {
      text += c;
    }
  }
  return text;
}

// A help text with its line breaks.
std::string verbatim(const std::string& help) {
  std::string text = ".nf\n";
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) text += as_troff(line) + "\n";
  return text + ".fi\n";
}

std::string upper(std::string_view word) {
  std::string text;
  for (const char c : word) text += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

}  // namespace

std::string man_page() {
  std::string text = fmt::format(
      ".TH SNUG 1 \"\" \"snug {}\" \"User Commands\"\n"
      ".SH NAME\nsnug \\- GPT training that fits the memory you have\n"
      ".SH SYNOPSIS\n.B snug\n.I COMMAND\n[\\fIconfig.py\\fR ...] [\\fB\\-\\-key=value\\fR ...]\n"
      ".SH DESCRIPTION\n{}",
      as_troff(version_name()), verbatim(overview_help()));
  for (const CommandRow& row : commands()) {
    text += fmt::format(".SH \"SNUG {}\"\n{}", upper(row.name), verbatim(row.help()));
  }
  return text;
}

}  // namespace snug::cli
