// Notes on what a log shows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "doctor/diagnosis/evidence.h"
#include "doctor/diagnosis/notes.h"
#include "doctor/torch/memory.h"

namespace snug::doctor::diagnosis {

void add_log_notes(const FailureEvidence& evidence, std::vector<Note>& notes);

// Harmless warnings wherever in the log, and what the card lacks. Any pointer may be null.
void add_warning_notes(const log::LogSummary* log, const torch::TorchMemory* memory,
                       const fit::Card* card, std::vector<Note>& notes);

// n_embd that n_head does not divide, with what would: kHeadsDoNotDivide. Nothing when it does, or
// when one of them is out of its key's range.
std::optional<Note> heads_note(std::int64_t n_embd, std::int64_t n_head);

// nanoGPT's own assertion about heads in the traceback, with the sizes that the log mentions.
std::optional<Note> heads_note_of(const log::LogSummary& log, const log::LogEvent& event);

// `line` with the call that PyTorch 2.4 deprecated replaced: torch.cuda.amp.GradScaler(x) becomes
// torch.amp.GradScaler('cuda', x). A line without such a call is returned as it is.
std::string corrected_gradscaler(std::string line);

}  // namespace snug::doctor::diagnosis
