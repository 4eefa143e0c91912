#include "base/shell_word.h"

namespace snug {

std::string shell_quoted(const std::string& word) {
  const bool plain = word.find_first_of(" \t\n\"'$&;()<>|*?[]{}~#\\!`") == std::string::npos;
  if (plain && !word.empty()) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

}  // namespace snug
