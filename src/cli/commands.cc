// The commands that take a config: train, sample, config. `plan` has a file of its own.
#include <fmt/format.h>

#include <csignal>

#include "base/error.h"
#include "cli/cli.h"
#include "config/config.h"
#include "train/generate.h"
#include "train/train_loop.h"

namespace snug::cli {

int train_command(Arguments arguments) {
  std::vector<std::string> rest(arguments.begin(), arguments.end());
  console::Console console(take_progress(rest));
  config::LoadedConfig config = config::load_config(config::Command::kTrain, rest);
  // Training goes on when the reader of its log goes away (`| head`). The other commands have
  // nothing to save, and end quietly as the signal's default has it.
  std::signal(SIGPIPE, SIG_IGN);
  return train::train(std::move(config), console);
}

int sample_command(Arguments arguments) {
  return train::sample(config::load_config(config::Command::kSample, arguments));
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
