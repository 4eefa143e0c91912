// The commands that take a config: train, sample, config. `plan` has a file of its own.
#include <fmt/format.h>

#include <csignal>

#include "base/error.h"
#include "cli/cli.h"
#include "config/config.h"
#include "train/generate.h"
#include "train/train_loop.h"

namespace snug {

int train_command(Arguments arguments) {
  LoadedConfig config = load_config(Command::kTrain, arguments);
  // Training goes on when the reader of its log goes away (`| head`). The other commands have
  // nothing to save, and end quietly as the signal's default has it.
  std::signal(SIGPIPE, SIG_IGN);
  Console console;
  train(std::move(config), console);
  return 0;
}

int sample_command(Arguments arguments) {
  sample(load_config(Command::kSample, arguments));
  return 0;
}

int config_command(Arguments arguments) {
  std::vector<std::string> rest(arguments.begin(), arguments.end());
  if (take_flag(rest, "--markdown")) {
    fmt::print("{}", keys_markdown());
    return 0;
  }
  const bool json = take_flag(rest, "--json");
  const LoadedConfig config = load_config(Command::kTrain, rest);
  fmt::print("{}", json ? config_to_json(config.values) + "\n" : echo_config(config));
  return 0;
}

}  // namespace snug
