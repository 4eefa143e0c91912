// Everything that the doctor knows of one case: the log, the config, the run that both describe,
// the diagnosis and the fixes.
#pragma once

#include <cstdint>
#include <optional>

#include "cli/doctor_options.h"
#include "config/config.h"
#include "doctor/diagnosis/diagnosis.h"
#include "doctor/fixes/fixes.h"
#include "report/doctor/report.h"

namespace snug {

struct DoctorCase {
  std::optional<LogSummary> log;
  LoadedConfig config;  // with what the log shows
  std::int64_t vocab_size = 0;
  const Card* card = nullptr;
  // Of the run that goes with the message; nothing: no config was given, and the log shows none.
  std::optional<TorchMemory> memory;
  std::optional<Diagnosis> diagnosis;
  std::optional<Diagnosis> prediction;  // without a failure: on a named card, or beside a log
  // What the card can give to one process, context included; 0: unknown.
  std::int64_t card_bytes = 0;
  std::optional<TorchFixes> fixes;
};

// Throws DataError for a log that cannot be read or says nothing, or shows no failure where there
// is no config either; ConfigError for a config that no run can have.
DoctorCase study(const DoctorOptions& options);

// What the same config needs here: on the card, or on one of the size that the log names. Nothing
// where either is not known.
std::optional<SnugNeed> snug_need(const DoctorCase& c);

}  // namespace snug
