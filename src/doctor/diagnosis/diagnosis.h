// Diagnosis: from what a log says and what the config needs to the cause and, where the card was
// full, to the tensor. Conclusions only, as data: the report says them in people's languages.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "doctor/diagnosis/candidate.h"
#include "doctor/diagnosis/card_trial.h"
#include "doctor/diagnosis/notes.h"
#include "doctor/log/summary.h"
#include "doctor/torch/memory.h"
#include "fit/cards.h"

namespace snug::doctor::diagnosis {

enum class Cause : std::uint8_t {
  kCapacity,            // the card is full of this run's own tensors
  kStatesExceedCard,    // weights, gradients and optimizer state alone are too much: no batch helps
  kFragmentation,       // enough is reserved, in pieces
  kCoTenant,            // another process holds the card
  kFreeExceedsRequest,  // more was free than was asked for: someone left meanwhile, or a limit
  kHostMemory,
  kDriver,   // the driver refused, without numbers
  kLibrary,  // cuBLAS, cuDNN or NCCL
  kNotMemory,
  kUnknown,  // nothing was said about memory, or nothing can be concluded
};
std::string_view name_of(Cause cause) noexcept;  // "states_exceed_card", as in JSON

// The setting of PyTorch's allocator that keeps memory from falling into pieces.
enum class AllocatorAdvice : std::uint8_t {
  kExpandable,       // expandable_segments:True, from 2.1 on, not on Windows
  kMaxSplit,         // max_split_size_mb, before 2.1: the other setting would end the run
  kMaxSplitWindows,  // the same, set as Windows' shells do
  kNone,             // another allocator, or it is on already
};
inline constexpr std::int64_t kAdvisedMaxSplitMib = 256;

struct Diagnosis {
  Cause cause = Cause::kUnknown;
  double cause_confidence = 0;
  std::optional<log::LogEvent> event;      // the one that everything is about
  std::int64_t request_bytes = 0;          // as the message prints it, middle of its range; 0: none
  std::vector<Candidate> candidates;       // most likely first, at most eight
  std::optional<torch::TorchPhase> phase;  // when it happened, if the log or the match tells

  // Where the card's bytes were, as far as the message allows; nothing where it does not.
  std::optional<std::int64_t> capacity_bytes, allocated_bytes, unallocated_bytes, free_bytes;
  std::optional<std::int64_t> context_bytes;  // of this process beside PyTorch
  std::optional<std::int64_t> others_bytes;   // of other processes
  std::vector<log::LogProcess> other_processes;
  bool others_are_estimated = false;  // they rest on a typical context
  bool alone_on_card = false;         // the message proves that nobody else was there

  // The modelled run on the card of the message; nothing: no config, or no figures to try it with.
  std::optional<CardTrial> trial;
  // Would the run train if this one allocation had passed? The worst later peak; 0: no config.
  std::int64_t worst_peak_bytes = 0;
  AllocatorAdvice allocator_advice = AllocatorAdvice::kExpandable;
  std::vector<Note> notes;  // what else is to be said, in order
};

// What is tried where a log of nanoGPT comes without a config.
enum class RunSearch : std::uint8_t {
  kNone,
  kCommonSizes,  // runs of common sizes, until one explains the message: about a second
};

struct LogDiagnosis {
  Diagnosis diagnosis;
  // The run that goes with the message best, where that is not the one given: another PyTorch,
  // another attention, compiled or not, other sizes; or, without a config, one so likely that it is
  // assumed. All figures of the diagnosis are of it then.
  std::optional<torch::TorchMemory> matched;
};

// `memory`: of the run that config and log describe, null without a config. `card` may be null. A
// log without an event is a prediction where there is a config.
LogDiagnosis diagnose(const log::LogSummary& log, const torch::TorchMemory* memory,
                      const fit::Card* card, RunSearch search = RunSearch::kNone);

// Before anything is run: what will happen on the card, nothing of that where it is null.
Diagnosis predict(const torch::TorchMemory& memory, const fit::Card* card);

}  // namespace snug::doctor::diagnosis
