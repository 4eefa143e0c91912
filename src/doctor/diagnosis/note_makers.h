// Notes that go with a diagnosis: what the log shows, what the model shows, myths.
#pragma once

#include <optional>
#include <vector>

#include "doctor/diagnosis/account.h"
#include "doctor/diagnosis/diagnosis.h"

namespace snug {

void add_log_notes(const LogSummary& log, const LogEvent& event, const CardAccount& account,
                   std::vector<Note>& notes);

// Harmless warnings wherever in the log, and what the card lacks. Any pointer may be null.
void add_warning_notes(const LogSummary* log, const TorchMemory* memory, const Card* card,
                       std::vector<Note>& notes);

// `available`: what PyTorch can have of the card, 0 when not known. `log` may be null.
void add_model_notes(const LogSummary* log, const TorchMemory& memory, std::int64_t available,
                     Diagnosis& diagnosis);

// nanoGPT's assertion about heads in the traceback, with the sizes that the log mentions.
std::optional<Note> heads_note_of(const LogSummary& log, const LogEvent& event);

// At most three, only those that the failure touches.
void add_myths(const TorchMemory& memory, Diagnosis& diagnosis);

}  // namespace snug
