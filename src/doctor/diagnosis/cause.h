// From the numbers to the cause, by the doctor's rules in their order.
#pragma once

#include <cstdint>

#include "doctor/diagnosis/card_trial.h"
#include "doctor/diagnosis/diagnosis.h"
#include "doctor/diagnosis/evidence.h"

namespace snug::doctor::diagnosis {

struct CauseVerdict {
  Cause cause = Cause::kUnknown;
  double confidence = 0;
};

// The verdict on what is not the card's memory, or has no numbers; kCapacity where numbers decide.
CauseVerdict verdict_of_kind(const log::LogEvent& event);

// The verdict on a full card: free beyond the request, another process, states alone,
// fragmentation, capacity. Where the modelled run was tried on the card and failed there too, what
// was tried decides; else the figures of the message. `memory` and `trial` may be null.
CauseVerdict verdict_of_card(const FailureEvidence& evidence, const torch::TorchMemory* memory,
                             const CardTrial* trial);

// Before anything is run.
CauseVerdict verdict_of_prediction(const torch::TorchMemory& memory, const fit::Card& card);

// Weights, gradients and AdamW's state.
std::int64_t states_bytes(const torch::TorchMemory& memory);

// What stands whatever the batch size: these, and what a resume and DDP keep.
std::int64_t standing_bytes(const torch::TorchMemory& memory);

// They are more than PyTorch can have. `available` 0: not known.
bool states_exceed(const torch::TorchMemory& memory, std::int64_t available);

}  // namespace snug::doctor::diagnosis
