// The commands that take a config: train, sample, config. `plan` has a file of its own.
#include <fmt/format.h>

#include <csignal>
#include <filesystem>

#include "base/error.h"
#include "checkpoint/checkpoint_folder.h"
#include "cli/cli.h"
#include "config/config.h"
#include "config/fields.h"
#include "profile/trace.h"
#include "train/generate.h"
#include "train/train_loop.h"

namespace snug::cli {
namespace {

// Which of a run's checkpoints.
bool is_checkpoint_name(const std::string& word) {
  return word == "best" || word == "latest" ||
         (word.starts_with("step-") && word.find_first_of("/.=") == word.npos);
}

// The folder of a run, a checkpoint in it, or its file: what --out_dir takes. Also one that is not
// there, unless it can be a config file or a setting without its dashes.
bool is_checkpoint_place(const std::string& word) {
  if (word.empty() || word.starts_with("-")) return false;
  std::error_code ignored;
  const std::filesystem::path path = word;
  if (std::filesystem::is_directory(path, ignored)) return true;
  if (path.filename() == checkpoint::kModelFile) return true;
  return !is_checkpoint_name(word) && !std::filesystem::exists(path, ignored) &&
         !word.ends_with(".py") && word.find('=') == word.npos && !config::find_field(word) &&
         !std::filesystem::exists(word + ".py", ignored);
}

// The first iterations' ops go to the file `trace`.
int train_traced(config::LoadedConfig config, console::Console& console, const std::string& trace) {
  if (config.values.eval_only) {
    throw ConfigError(
        "--profile and eval_only contradict each other: the trace is of iterations of training\n"
        "leave one of the two out");
  }
  profile::TraceRecorder recorder(trace, [&](const std::string& problem) {
    console.warn(problem + "\nthe run goes on without a trace");
  });
  console.line(fmt::format("the first {} iterations go to {}: open it at https://ui.perfetto.dev",
                           profile::TraceRecorder::kIterations, trace));
  return train::train(std::move(config), console,
                      [&](backend::Executor& executor, const std::function<void()>& step) {
                        recorder.watch(executor, step);
                      });
}

}  // namespace

int train_command(Arguments arguments) {
  std::vector<std::string> rest(arguments.begin(), arguments.end());
  console::Console console(take_progress(rest));
  const std::string trace = take_profile(rest);
  config::LoadedConfig config = config::load_config(config::Command::kTrain, rest);
  // Training goes on when the reader of its log goes away (`| head`). The other commands have
  // nothing to save, and end quietly as the signal's default has it.
  std::signal(SIGPIPE, SIG_IGN);
  if (trace.empty()) return train::train(std::move(config), console);
  return train_traced(std::move(config), console, trace);
}

// `snug sample out best` is `snug sample --out_dir=out/best`.
int sample_command(Arguments arguments) {
  std::vector<std::string> rest;
  std::string name;
  for (const std::string& word : arguments) {
    if (is_checkpoint_place(word)) {
      rest.push_back("--out_dir=" + word);
    } else if (is_checkpoint_name(word)) {
      name = word;
    } else {
      rest.push_back(word);
    }
  }
  config::LoadedConfig config = config::load_config(config::Command::kSample, rest);
  if (!name.empty()) config.values.out_dir += "/" + name;
  return train::sample(std::move(config));
}

int config_command(Arguments arguments) {
  std::vector<std::string> rest(arguments.begin(), arguments.end());
  if (take_flag(rest, "--markdown")) {
    fmt::print("{}", config::keys_markdown());
    return 0;
  }
  const bool json = take_flag(rest, "--json");
  const config::LoadedConfig config = config::load_config(config::Command::kTrain, rest);
  fmt::print("{}",
             json ? config::config_to_json(config.values) + "\n" : config::echo_config(config));
  return 0;
}

}  // namespace snug::cli
