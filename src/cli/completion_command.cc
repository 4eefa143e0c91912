#include <fmt/format.h>

#include "base/error.h"
#include "cli/cli.h"
#include "config/config.h"

namespace snug {

int completion_command(Arguments arguments) {
  if (arguments.size() != 1 || arguments[0] != "bash") {
    throw ConfigError("completion takes the name of a shell: snug completion bash");
  }
  std::string names, keys;
  for (const CommandRow& row : commands()) names += fmt::format("{} ", row.name);
  for (const std::string& key : all_keys()) keys += fmt::format("--{}= ", key);
  fmt::print(
      "_snug() {{\n"
      "  local word=\"${{COMP_WORDS[COMP_CWORD]}}\"\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
      "    COMPREPLY=($(compgen -W \"{}\" -- \"$word\"))\n"
      "  elif [[ \"$word\" == -* ]]; then\n"
      "    COMPREPLY=($(compgen -W \"{}--help --json\" -- \"$word\"))\n"
      "    compopt -o nospace\n"
      "  else\n"
      "    COMPREPLY=($(compgen -f -- \"$word\"))\n"
      "  fi\n"
      "}}\n"
      "complete -F _snug snug\n",
      names, keys);
  return 0;
}

}  // namespace snug
