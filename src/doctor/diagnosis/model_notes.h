// Notes on what the modelled run shows, and on myths that a failure touches.
#pragma once

#include <cstdint>

#include "doctor/diagnosis/diagnosis.h"

namespace snug::doctor::diagnosis {

// `available`: what PyTorch can have of the card, 0 when not known. `log` may be null.
void add_model_notes(const log::LogSummary* log, const torch::TorchMemory& memory,
                     std::int64_t available, Diagnosis& diagnosis);

// What the run itself needs is the matter: it was too much for the card, or has not been tried.
bool is_of_run(const Diagnosis& diagnosis);

// At most five.
void add_myths(const torch::TorchMemory& memory, Diagnosis& diagnosis);

}  // namespace snug::doctor::diagnosis
