// Completion scripts for bash, zsh and fish: each is the same words in another shell's grammar.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "cli/cli.h"
#include "cli/completion_words.h"
#include "cli/help.h"

namespace snug::cli {
namespace {

std::string joined(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, " "));
}

std::string names_of(const std::vector<CommandWords>& all) {
  std::vector<std::string> names;
  for (const CommandWords& command : all) names.push_back(command.name);
  return joined(names);
}

// For both bash and zsh: sets `offered` and `next` by the command, `values` by the option.
std::string case_tables(const std::vector<CommandWords>& all, const char* command) {
  std::string text = fmt::format("  case \"{}\" in\n", command);
  for (const CommandWords& row : all) {
    text += fmt::format("    {}) offered=\"{}\" next=\"{}\" ;;\n", row.name, joined(row.options),
                        joined(row.words));
  }
  text += "  esac\n  case \"$option\" in\n";
  for (const KeyValues& key : known_values()) {
    text += fmt::format("    {}) values=\"{}\" ;;\n", key.option, joined(key.values));
  }
  return text + "  esac\n";
}

// bash cuts --key=value into three words, of which the last may be missing.
std::string bash_script(const std::vector<CommandWords>& all) {
  return fmt::format(
      R"(_snug() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" option="" offered="" next="" values=""
  if [[ "$word" == "=" ]]; then
    option="${{COMP_WORDS[COMP_CWORD - 1]}}" word=""
  elif [[ "${{COMP_WORDS[COMP_CWORD - 1]}}" == "=" ]]; then
    option="${{COMP_WORDS[COMP_CWORD - 2]}}"
  fi
{}  if [[ "$COMP_CWORD" -eq 1 ]]; then
    next="{}"
  elif [[ "$COMP_CWORD" -gt 2 ]]; then
    next=""
  fi
  COMPREPLY=()
  if [[ -n "$values" ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$values" -- "$word")
  elif [[ -z "$option" && "$word" == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$offered" -- "$word")
    [[ "${{COMPREPLY[0]}}" == *= ]] && compopt -o nospace
  elif [[ -z "$option" && -n "$next" ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$next" -- "$word")
  fi
  if [[ ${{#COMPREPLY[@]}} -eq 0 && "$word" != -* ]]; then
    compopt -o filenames
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
  fi
}}
complete -F _snug snug
)",
      case_tables(all, "${COMP_WORDS[1]}"), names_of(all));
}

// What is inside single quotes: a quote ends them, stands alone, and opens them again.
std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

std::string zsh_script(const std::vector<CommandWords>& all) {
  std::string rows;
  for (const CommandWords& row : all) {
    rows += fmt::format("    {}\n", quoted(row.name + ":" + row.summary));
  }
  return fmt::format(
      R"(#compdef snug
_snug() {{
  local -a commands
  local option="" offered="" next="" values=""
  commands=(
{}  )
  [[ $words[CURRENT] == --*=* ]] && option="${{words[CURRENT]%%=*}}"
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
{}  if [[ -n $option ]]; then
    compset -P '*='
    compadd -- ${{=values}} || _files
  elif [[ $words[CURRENT] == -* ]]; then
    compadd -S '' -- ${{(M)${{=offered}}:#*=}}
    compadd -- ${{${{=offered}}:#*=}}
  elif [[ -n $next && CURRENT -eq 3 ]]; then
    compadd -- ${{=next}}
  else
    _files
  fi
}}
if [ "$funcstack[1]" = _snug ]; then _snug "$@"; else compdef _snug snug; fi
)",
      rows, case_tables(all, "$words[2]"));
}

std::string fish_script(const std::vector<CommandWords>& all) {
  std::string text;
  const std::vector<KeyValues> known = known_values();
  for (const CommandWords& row : all) {
    text += fmt::format("complete -c snug -n __fish_use_subcommand -f -a {} -d {}\n", row.name,
                        quoted(row.summary));
    const std::string seen =
        fmt::format("complete -c snug -n '__fish_seen_subcommand_from {}'", row.name);
    if (!row.words.empty()) text += fmt::format("{} -f -a {}\n", seen, quoted(joined(row.words)));
    for (std::string option : row.options) {
      const bool has_value = option.ends_with('=');
      if (has_value) option.pop_back();
      const auto key = std::ranges::find(known, option, &KeyValues::option);
      text += fmt::format("{} -l {}{}\n", seen, option.substr(2),
                          !has_value           ? ""
                          : key == known.end() ? " -r"
                                               : " -x -a " + quoted(joined(key->values)));
    }
  }
  return text;
}

}  // namespace

std::string completion_help() {
  return "snug completion bash|zsh|fish\n\n"
         "Prints a completion script for the shell; an installed Snug has put it in place:\n"
         "  source <(snug completion bash)                 in ~/.bashrc\n"
         "  source <(snug completion zsh)                  in ~/.zshrc, after compinit\n"
         "  snug completion fish | source                  in config.fish\n";
}

int completion_command(Arguments arguments) {
  const std::string shell = arguments.size() == 1 ? arguments[0] : "";
  const std::vector<CommandWords> all = command_words(commands());
  if (shell == "bash") {
    fmt::print("{}", bash_script(all));
  } else if (shell == "zsh") {
    fmt::print("{}", zsh_script(all));
  } else if (shell == "fish") {
    fmt::print("{}", fish_script(all));
  } else {
    throw ConfigError("completion takes the name of a shell: snug completion bash, zsh or fish");
  }
  return 0;
}

}  // namespace snug::cli
