// What the doctor found, as people and scripts read it: the answer first, the reason under it, the
// next command last.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "doctor/case.h"
#include "fit/card_support.h"
#include "report/catalogue/messages.h"

namespace snug::report {

// What the same config needs in Snug.
struct SnugNeed {
  std::int64_t total_bytes = 0;
  bool fits = false;
  std::string changes;  // "--checkpoint_blocks=9"; empty: as it is
  std::string device;   // "GeForce RTX 3060"; empty: no card is named
  fit::CardSupport support = fit::CardSupport::kNoBackend;  // of the card by this build
  const fit::Card* card = nullptr;                          // the one that was planned for
};

// The pointers may be null and are the caller's.
struct DoctorReport {
  std::optional<doctor::diagnosis::Diagnosis>
      diagnosis;  // nothing: no log with a failure was given
  std::optional<doctor::diagnosis::Diagnosis>
      prediction;  // then: what will happen on the card, and notes
  const doctor::torch::TorchMemory* memory = nullptr;  // null: no config
  const fit::Fixes* fixes = nullptr;
  const fit::Card* card = nullptr;
  std::int64_t card_bytes = 0;  // what the card can give to one process; 0: not known
  ByteRange need;               // of the run, context included
  std::optional<doctor::fixes::TorchProof> proof;  // of what is recommended
  std::optional<SnugNeed> snug;
  bool explain = false;                // list what the figures take for granted
  std::string written;                 // the file that --write made; empty: none
  std::string not_written;             // why --write made none
  std::vector<std::string> arguments;  // after `snug doctor`, as typed
  bool color = false;
  Language language = Language::kEnglish;

  // What the card has to give beside CUDA's context, as `snug plan` counts it; 0: not known.
  std::int64_t given_bytes() const {
    if (card_bytes <= 0 || memory == nullptr) return card_bytes;
    return std::max<std::int64_t>(0, card_bytes - memory->context_range.high_bytes);
  }

  // Those of the log, else those of the model; null: neither.
  const doctor::diagnosis::Diagnosis* conclusions() const {
    return diagnosis ? &*diagnosis : prediction ? &*prediction : nullptr;
  }
};

// What the case tells. It must outlive the report; what is Snug's own, the terminal's or the
// reader's is the caller's to add.
DoctorReport doctor_report(const doctor::DoctorCase& c);

// The lines to change or type for a fix that no key makes; empty for the others.
std::vector<std::string> fix_code(const DoctorReport& report, const fit::Fix& fix);

std::string doctor_text(const DoctorReport& report);

// One JSON object; its members are documented in docs/formats.md. Valid UTF-8 whatever the log had.
std::string doctor_json(const DoctorReport& report);

// One HTML page that needs nothing else: no network, no other file, no script.
std::string doctor_page(const DoctorReport& report);

}  // namespace snug::report
