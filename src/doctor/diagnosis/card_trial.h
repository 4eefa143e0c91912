// The modelled run on the card of a message, by PyTorch's own allocator: as it was, alone on the
// card, with expandable segments. The first change that lets it survive is the cause.
#pragma once

#include <cstdint>
#include <optional>

#include "doctor/diagnosis/candidate.h"
#include "doctor/diagnosis/evidence.h"
#include "doctor/torch/replay.h"

namespace snug::doctor::diagnosis {

struct CardTrial {
  std::int64_t given_bytes = 0;  // what PyTorch could have of the card beside the other processes
  std::int64_t alone_bytes = 0;  // and without them
  bool fails = false;            // the modelled run does not survive either
  bool reproduces = false;       // at the request of the message, with what it had allocated
  // The message is cut off before it tells what PyTorch held: this rests on what the process held,
  // or on the whole card.
  bool is_assumed = false, is_of_whole_card = false;
  std::optional<Candidate> failed;  // the tensor at which it fails
  bool survives_alone = false;
  bool survives_expandable = false;  // false where they are on already
  bool is_expandable_tried = true;
  // The smallest amount with which it survives, as it is and with expandable segments.
  std::int64_t needed_bytes = 0, needed_expandable_bytes = 0;
};

// Nothing where the message does not tell what PyTorch had, or the driver lends the host's memory.
std::optional<CardTrial> try_on_card(const FailureEvidence& evidence,
                                     const torch::TorchMemory& memory);

// What the log shows of PYTORCH_CUDA_ALLOC_CONF; without a limit.
torch::TorchAllocatorSettings allocator_settings_of(const log::LogSummary& log,
                                                    const log::LogEvent& event);

}  // namespace snug::doctor::diagnosis
