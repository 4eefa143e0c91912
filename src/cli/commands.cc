// The commands that take a config: train, plan, sample, config.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>

#include "backend/cpu/cpu_target.h"
#include "base/error.h"
#include "cli/cli.h"
#include "config/config.h"
#include "report/plan_report.h"
#include "train/generate.h"
#include "train/host_memory.h"
#include "train/planning.h"
#include "train/train_loop.h"

namespace snug {
namespace {

// Takes a bare flag such as --json out of the arguments.
bool take_flag(std::vector<std::string>& arguments, const std::string& flag) {
  const auto at = std::find(arguments.begin(), arguments.end(), flag);
  if (at == arguments.end()) return false;
  arguments.erase(at);
  return true;
}

bool wants_color(const Config& config) {
  if (config.color != "auto") return config.color == "always";
  return isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr;
}

std::string budget_origin(const Config& config, const HostMemory& memory) {
  if (config.memory_budget != "auto") return "the memory_budget";
  return fmt::format("available now (limited by the {})", memory.limited_by);
}

}  // namespace

int train_command(Arguments arguments) {
  LoadedConfig config = load_config(Command::kTrain, arguments);
  // Training goes on when the reader of its log goes away (`| head`). The other commands have
  // nothing to save, and end quietly as the signal's default has it.
  std::signal(SIGPIPE, SIG_IGN);
  Console console;
  train(std::move(config), console);
  return 0;
}

int plan_command(Arguments arguments) {
  std::vector<std::string> rest(arguments.begin(), arguments.end());
  const bool json = take_flag(rest, "--json");
  const LoadedConfig config = load_config(Command::kPlan, rest);
  const Config& settings = config.values;
  const Vocabulary vocabulary = find_vocabulary(settings);
  const int threads = cpu::use_threads(settings.threads);
  const auto training = plan_training(settings, vocabulary.size, threads);
  const auto sampling = plan_sampling(training->model, settings.block_size, threads);
  const HostMemory memory = host_memory();
  const PlanReportInput input{settings,
                              *training,
                              *sampling,
                              vocabulary.origin,
                              budget_bytes(settings.memory_budget, memory),
                              budget_origin(settings, memory),
                              wants_color(settings)};
  if (json) {
    fmt::print("{}", plan_json(input));
  } else {
    for (const std::string& notice : config.notices) fmt::print("{}\n", notice);
    if (settings.device.rfind("cuda", 0) == 0) {
      fmt::print("planned for the processor: this build has no CUDA backend\n");
    }
    fmt::print("{}", plan_text(input));
  }
  return static_cast<int>(input.fits() ? ExitCode::kDone : ExitCode::kDoesNotFit);
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
