// The run that a log and a config describe together, and what a log tells of the program that wrote
// it: how old its PyTorch is, compiled or not, alone or one of several.
#pragma once

#include <optional>

#include "doctor/log/summary.h"
#include "doctor/torch/run.h"

namespace snug::doctor::diagnosis {

// Nothing: the log does not tell.
struct TorchTraits {
  std::optional<torch::TorchVersion> version;
  std::optional<bool> flash;
  std::optional<bool> compiled;
};
TorchTraits torch_traits_of(const log::LogSummary& log);

// Signs of more than one training process: a launcher's command, ranks that write.
bool shows_ddp(const log::LogFacts& facts);

// The run that the log and the config describe together. What the log shows of the run that failed
// (an override on its command line, "compiling the model...", slow attention, a resume, DDP, an old
// wording) wins over the config.
torch::TorchRun torch_run_of(const config::Config& config, std::int64_t vocab_size,
                             const log::LogSummary* log);

}  // namespace snug::doctor::diagnosis
