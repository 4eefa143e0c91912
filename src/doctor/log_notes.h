// Warnings in a log that are not about memory but come with most reports of it, explained.
#pragma once

#include <optional>
#include <string>

#include "doctor/log_reading.h"

namespace snug {

struct LogNote {
  std::string what;  // one sentence
  std::string why;
  std::string fix;  // a line to write or a flag to give; empty when nothing needs doing
};

// For kNotEnoughSms, kGradScalerDeprecated and kDtypeUnsupported; nothing for other kinds.
std::optional<LogNote> note_for(const LogEvent& event);

// `line` with the call that PyTorch 2.4 deprecated replaced: torch.cuda.amp.GradScaler(x) becomes
// torch.amp.GradScaler('cuda', x). A line without such a call is returned as it is.
std::string corrected_gradscaler(std::string line);

}  // namespace snug
