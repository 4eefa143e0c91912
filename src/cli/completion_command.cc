// Completion scripts, made from the table of commands and the table of keys.
#include <fmt/format.h>

#include "base/error.h"
#include "cli/cli.h"
#include "cli/help.h"
#include "config/config.h"

namespace snug::cli {
namespace {

std::string joined(const char* pattern, auto&& words) {
  std::string text;
  for (const auto& word : words) text += fmt::format(fmt::runtime(pattern), word);
  return text;
}

std::vector<std::string> command_names() {
  std::vector<std::string> names;
  for (const CommandRow& row : commands()) names.push_back(row.name);
  return names;
}

std::string bash_script() {
  return fmt::format(
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
      joined("{} ", command_names()), joined("--{}= ", config::all_keys()));
}

// Summaries hold no quotes or colons that a shell would read.
std::string zsh_script() {
  std::string rows;
  for (const CommandRow& row : commands()) {
    rows += fmt::format("    '{}:{}'\n", row.name, row.summary);
  }
  return fmt::format(
      "#compdef snug\n"
      "_snug() {{\n"
      "  local -a commands keys\n"
      "  commands=(\n{}  )\n"
      "  keys=({}--help --json)\n"
      "  if (( CURRENT == 2 )); then\n"
      "    _describe command commands\n"
      "  elif [[ $words[CURRENT] == -* ]]; then\n"
      "    compadd -S '' -- $keys\n"
      "  else\n"
      "    _files\n"
      "  fi\n"
      "}}\n"
      "if [ \"$funcstack[1]\" = _snug ]; then _snug \"$@\"; else compdef _snug snug; fi\n",
      rows, joined("--{}= ", config::all_keys()));
}

std::string fish_script() {
  std::string text;
  for (const CommandRow& row : commands()) {
    text += fmt::format("complete -c snug -n __fish_use_subcommand -f -a {} -d '{}'\n", row.name,
                        row.summary);
  }
  for (const std::string& key : config::all_keys()) {
    text += fmt::format("complete -c snug -n 'not __fish_use_subcommand' -l {} -r\n", key);
  }
  return text;
}

}  // namespace

std::string completion_help() {
  return "snug completion bash|zsh|fish\n\n"
         "Prints a completion script for the shell:\n"
         "  source <(snug completion bash)                 in ~/.bashrc\n"
         "  source <(snug completion zsh)                  in ~/.zshrc, after compinit\n"
         "  snug completion fish | source                  in config.fish\n";
}

int completion_command(Arguments arguments) {
  const std::string shell = arguments.size() == 1 ? arguments[0] : "";
  if (shell == "bash") {
    fmt::print("{}", bash_script());
  } else if (shell == "zsh") {
    fmt::print("{}", zsh_script());
  } else if (shell == "fish") {
    fmt::print("{}", fish_script());
  } else {
    throw ConfigError("completion takes the name of a shell: snug completion bash, zsh or fish");
  }
  return 0;
}

}  // namespace snug::cli
