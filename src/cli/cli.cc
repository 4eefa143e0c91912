#include "cli/cli.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <system_error>

#include "base/error.h"
#include "cli/checkpoint_commands.h"
#include "cli/devices.h"
#include "cli/help.h"
#include "cli/man_page.h"
#include "cli/selftest.h"
#include "cli/version.h"
#include "config/nearest.h"
#include "console/output_filter.h"
#include "report/catalogue/error_texts.h"
#include "report/narrow.h"

namespace snug::cli {
namespace {

constexpr CommandRow kCommands[] = {
    {"train", "train a GPT", train_command, train_help, true},
    {"plan", "what a run needs, before anything is allocated", plan_command, plan_help, true},
    {"sample", "let a trained model write", sample_command, sample_help, true},
    {"convert", "checkpoints of nanoGPT, Hugging Face, llm.c and GGUF, in and out", convert_command,
     convert_help},
    {"eval", "the loss of given tokens under any checkpoint", eval_command, eval_help, true},
    {"prepare", "make training data from text", prepare_command, prepare_help},
    {"data", "what a data set holds", data_command, data_help},
    {"tokenize", "text to GPT-2's tokens and back", tokenize_command, tokenize_help},
    {"plot", "the losses of runs, as a page", plot_command, plot_help},
    {"doctor", "why PyTorch ran out of memory, and what to change", doctor_command, doctor_help,
     true, doctor_help_in},
    {"devices", "the cards and the memory of this machine, now", devices_command, devices_help},
    {"watch", "the same, redrawn every second", watch_command, watch_help},
    {"selftest", "a card's kernels against the processor's", selftest_command, selftest_help, true},
    {"cards", "the cards that a run can be planned for", cards_command, cards_help},
    {"verify", "whether a run's checkpoints are whole", verify_command, verify_help},
    {"bench", "how fast this processor trains, op by op", bench_command, bench_help, true},
    {"config", "the settings that arguments resolve to", config_command, config_help, true},
    {"completion", "a completion script for your shell", completion_command, completion_help},
};

constexpr std::string_view kLanguageOption = "--lang=";

// Not fmt::print, which throws: when nobody can read the message, the exit code still tells.
void put_error(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

// The last --lang; empty where the locale decides.
std::string chosen_language(Arguments arguments) {
  std::string chosen;
  for (const std::string& argument : arguments) {
    if (argument.starts_with(kLanguageOption)) chosen = argument.substr(kLanguageOption.size());
  }
  return chosen == "auto" ? "" : chosen;
}

// A slip is told though a later option overrides it.
void check_language(const std::string& language) {
  const char* locale = report::locale_of_environment();
  const report::Language of_locale = report::language_of("", locale);
  if (language.empty()) {
    throw ConfigError(report::text_in(of_locale, report::TextId::kUnknownLanguage, {language}));
  }
  if (language != "auto") report::language_of(language, locale);
}

// The one chosen if it is a language, else the locale's: an error may be of --lang itself.
report::Language language_of(Arguments arguments) {
  const std::string chosen = chosen_language(arguments);
  try {
    return report::language_of(chosen, report::locale_of_environment());
  } catch (const ConfigError&) {
    return report::language_of("", report::locale_of_environment());
  }
}

// Says it in the reader's language.
int fail(Arguments arguments, ExitCode code, const std::string& message) {
  std::fflush(stdout);
  put_error("snug: " + report::translated(language_of(arguments), message) + "\n");
  return static_cast<int>(code);
}

int fail_output(Arguments arguments) {
  return fail(arguments, ExitCode::kDevice,
              "not all of the output could be written\n"
              "check the disk that it goes to, or the program that reads it");
}

// In English: a translation would need memory.
int fail_memory() noexcept {
  std::fflush(stdout);
  put_error("snug: the system has no memory left for the program itself\n");
  return static_cast<int>(ExitCode::kDevice);
}

[[noreturn]] void fail_unknown_command(const std::string& word) {
  std::vector<std::string> names;
  for (const CommandRow& row : kCommands) names.push_back(row.name);
  const std::string meant = config::nearest_word(word, names, config::suggestion_reach(word));
  const bool before = word.starts_with('-') || word.ends_with(".py");
  throw ConfigError(
      fmt::format("there is no command '{}'\n{}{}`snug --help` lists the commands", word,
                  meant.empty() ? "" : fmt::format("did you mean {}?\n", meant),
                  before ? "the command comes first: snug train config.py --key=value\n" : ""));
}

int run_command(const CommandRow& row, Arguments arguments) {
  if (row.takes_settings) return row.run(arguments);
  std::vector<std::string> rest(arguments.begin(), arguments.end());
  for (const std::string& word : rest) {
    if (word.starts_with(kLanguageOption)) check_language(word.substr(kLanguageOption.size()));
  }
  std::erase_if(rest, [](const std::string& word) { return word.starts_with(kLanguageOption); });
  return row.run(rest);
}

std::string help_of(const CommandRow& row, Arguments arguments) {
  return row.help_in != nullptr ? row.help_in(language_of(arguments)) : row.help();
}

// `snug help COMMAND` is `snug COMMAND --help`.
int help_command(Arguments arguments) {
  if (arguments.empty()) {
    print_report(overview_help());
    return 0;
  }
  for (const CommandRow& row : kCommands) {
    if (arguments[0] != row.name) continue;
    print_report(help_of(row, arguments));
    return 0;
  }
  fail_unknown_command(arguments[0]);
}

// The first argument is the command; all that follows is the command's own.
int dispatch(const std::vector<std::string>& words) {
  if (words.empty()) {
    put_error(overview_help());
    return static_cast<int>(ExitCode::kUsage);
  }
  const std::string& first = words.front();
  const Arguments rest = Arguments(words).subspan(1);
  if (first == "-h" || first == "--help") return help_command({});
  if (first == "help") return help_command(rest);
  if (first == "-V" || first == "--version") {
    fmt::print("{}", version_text());
    return 0;
  }
  if (first == "--man") {
    fmt::print("{}", man_page());
    return 0;
  }
  for (const CommandRow& row : kCommands) {
    if (first != row.name) continue;
    if (!asks_for_help(rest)) return run_command(row, rest);
    print_report(help_of(row, rest));
    return 0;
  }
  fail_unknown_command(first);
}

// What runs out of memory goes on to the caller, also while it tells of another error.
int run_words(const std::vector<std::string>& words) {
  try {
    const int code = dispatch(words);
    const bool written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
    if (written || code != 0) return code;
    return fail_output(words);
  } catch (const Error& error) {
    return fail(words, error.code(), error.what());
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::system_error& error) {
    if (std::ferror(stdout) != 0) return fail_output(words);
    return fail(words, ExitCode::kDevice, fmt::format("the system refused: {}", error.what()));
  } catch (const std::exception& error) {
    return fail(words, ExitCode::kInternal,
                fmt::format("a bug of ours: {}\nplease report it with the command", error.what()));
  }
}

}  // namespace

std::span<const CommandRow> commands() { return kCommands; }

bool wants_color(const std::string& color) {
  if (color != "auto") return color == "always";
  const char* no_color = std::getenv("NO_COLOR");
  const bool refused = no_color != nullptr && *no_color != '\0';
  return console::obeys_escapes() && !refused;
}

void print_report(const std::string& text) {
  const bool on_terminal = isatty(STDOUT_FILENO) == 1;
  fmt::print("{}", on_terminal ? report::narrowed(text, console::terminal_columns()) : text);
}

bool take_flag(std::vector<std::string>& arguments, const std::string& flag) {
  const auto at = std::find(arguments.begin(), arguments.end(), flag);
  if (at == arguments.end()) return false;
  arguments.erase(at);
  return true;
}

console::Progress take_progress(std::vector<std::string>& arguments) {
  constexpr std::string_view kPrefix = "--progress=";
  console::Progress progress = console::Progress::kAuto;
  for (auto at = arguments.begin(); at != arguments.end();) {
    if (!at->starts_with(kPrefix)) {
      ++at;
      continue;
    }
    const std::string value = at->substr(kPrefix.size());
    if (value != "bar" && value != "plain" && value != "none") {
      throw ConfigError(
          fmt::format("progress = '{}': wanted bar, plain or none\n"
                      "bar is redrawn on a terminal, plain is a line every ten seconds",
                      value));
    }
    progress = value == "bar"     ? console::Progress::kBar
               : value == "plain" ? console::Progress::kPlain
                                  : console::Progress::kNone;
    at = arguments.erase(at);
  }
  const bool quiet = take_flag(arguments, "--quiet") || take_flag(arguments, "-q");
  return quiet ? console::Progress::kQuiet : progress;
}

std::string take_profile(std::vector<std::string>& arguments) {
  constexpr std::string_view kPrefix = "--profile=";
  std::string path;
  std::erase_if(arguments, [&](const std::string& argument) {
    if (!argument.starts_with(kPrefix) && argument != "--profile") return false;
    path = argument.substr(std::min(argument.size(), kPrefix.size()));
    if (path.empty()) {
      throw ConfigError(
          "--profile names no file\nthe trace's name belongs there: "
          "--profile=trace.json");
    }
    return true;
  });
  return path;
}

bool asks_for_help(Arguments arguments) {
  return std::any_of(arguments.begin(), arguments.end(),
                     [](const std::string& a) { return a == "-h" || a == "--help"; });
}

int run_cli(int argc, char** argv) try {
  // A write beyond `ulimit -f` then fails like one to a full disk, and is said like one.
  std::signal(SIGXFSZ, SIG_IGN);
  console::filter_standard_output();
  return run_words(std::vector<std::string>(argv + std::min(argc, 1), argv + argc));
} catch (const std::bad_alloc&) {
  return fail_memory();
}

}  // namespace snug::cli
