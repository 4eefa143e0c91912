// What a log tells of the program that wrote it: how old its PyTorch is, compiled or not, alone or
// one of several.
#pragma once

#include <optional>

#include "doctor/log/summary.h"
#include "doctor/torch/run.h"

namespace snug {

// Nothing: the log does not tell.
struct TorchTraits {
  std::optional<TorchVersion> version;
  std::optional<bool> flash;
  std::optional<bool> compiled;
};
TorchTraits torch_traits_of(const LogSummary& log);

// Signs of more than one training process: a launcher's command, ranks that write.
bool shows_ddp(const LogFacts& facts);

}  // namespace snug
