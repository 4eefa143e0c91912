// Diagnosis: from what a log says and what the config needs to the cause and, where the card was
// full, to the tensor. Conclusions only, as data: the report says them in people's languages.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doctor/diagnosis/common_models.h"
#include "doctor/diagnosis/notes.h"
#include "doctor/log/summary.h"
#include "doctor/torch/memory.h"
#include "fit/cards.h"

namespace snug {

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

// How a candidate was found, the strongest first.
enum class Evidence : std::uint8_t {
  kShapeInLog,        // the log prints the very shape
  kSizeAndAllocated,  // size and "already allocated" both match one moment of the modelled run
  kSizeAndFrame,      // size matches, and so does the line of the traceback
  kSizeOnly,
  kGuess,  // no config: which tensor of a common model has such a size
};

// What a number means without a config: a tensor of a common model.
struct TensorGuess {
  struct Split {
    std::int64_t batch, tokens;
  };

  CommonTensor tensor = CommonTensor::kLogits;  // says what each dimension of the shape is
  std::vector<Split> other_splits;              // that make as many tokens, less likely
  std::string_view model;                       // "GPT-2"; a literal
};

struct Candidate {
  std::string tensor;  // "logits", "gradient of transformer.wte.weight": in English
  // What it is composed of, for other languages: a label of the closed set that the catalogue has,
  // and the parameter or block ("h.3") that it is of. Either may be empty, not both.
  std::string label, owner;
  std::string op;  // PyTorch's operator that allocates it; empty: not known
  std::vector<std::int64_t> shape;
  std::string dtype;  // "bfloat16"
  std::int64_t bytes = 0;
  std::optional<TorchPhase> phase;
  std::int32_t count = 1;  // alike in so many layers or parameters
  double confidence = 0;   // 0 to 1; of all candidates together at most 1
  Evidence evidence = Evidence::kSizeOnly;
  std::optional<TensorGuess> guess;  // kGuess only
};

struct Diagnosis {
  Cause cause = Cause::kUnknown;
  double cause_confidence = 0;
  std::optional<LogEvent> event;      // the one that everything is about
  std::int64_t request_bytes = 0;     // as the message prints it, middle of its range; 0: none
  std::vector<Candidate> candidates;  // most likely first, at most eight
  std::optional<TorchPhase> phase;    // when it happened, if the log or the match tells

  // Where the card's bytes were, as far as the message allows; nothing where it does not.
  std::optional<std::int64_t> capacity_bytes, allocated_bytes, unallocated_bytes, free_bytes;
  std::optional<std::int64_t> context_bytes;  // of this process beside PyTorch
  std::optional<std::int64_t> others_bytes;   // of other processes
  std::vector<LogProcess> other_processes;
  bool alone_on_card = false;  // the message proves that nobody else was there

  // The run that fits the message best, where that is not the one given: another PyTorch, another
  // attention, compiled or not. All figures here are of it then.
  std::optional<TorchRun> matched_run;
  // Would the run train if this one allocation had passed? The worst later peak; 0: no config.
  std::int64_t worst_peak_bytes = 0;
  std::vector<Note> notes;  // what else is to be said, in order
};

// The run that the log and the config describe together. What the log shows of the run that failed
// (an override on its command line, "compiling the model...", slow attention, a resume, DDP, an old
// wording) wins over the config.
TorchRun torch_run_of(const Config& config, std::int64_t vocab_size, const LogSummary* log);

// Settings that the log shows, put into `config` (values, origins) unless the command line has
// them.
struct LogSettingsTaken {
  bool describes_run = false;  // the log shows enough of a config to go by where the user gave none
  std::vector<Note> notes;     // which were taken, and where the log speaks of another run
};
LogSettingsTaken take_settings_from_log(const LogSummary& log, LoadedConfig& config);

// PyTorch's memory depends on this key.
bool decides_memory(std::string_view key);

// n_embd that n_head does not divide, with what would: kHeadsDoNotDivide. Nothing when it does, or
// when one of them is out of its key's range.
std::optional<Note> heads_note(std::int64_t n_embd, std::int64_t n_head);

// Any of the pointers may be null: no log, no config, no card named.
Diagnosis diagnose(const LogSummary* log, const TorchMemory* memory, const Card* card);

}  // namespace snug
