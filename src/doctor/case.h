// The doctor as a library: from a log and a config to everything that is known of one case. Each
// part is worked out once and passed on. Nothing here reads the terminal or says a sentence.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "doctor/diagnosis/diagnosis.h"
#include "doctor/fixes/fixes.h"
#include "doctor/log/summary.h"
#include "doctor/torch/memory.h"
#include "fit/cards.h"

namespace snug::doctor {

// How far a case is examined. Each step takes some ten times as long as the one before.
enum class CaseDepth : std::uint8_t {
  kDiagnosis,  // the log alone, without a model of its run
  kModel,      // with the run that config and log describe
  kFixes,
};

// The vocabulary's size as far as it is known without the data set's files: what the config says,
// that of nanoGPT's own data sets, else GPT-2's.
std::int64_t known_vocabulary(const config::Config& config);

struct CaseInputs {
  std::optional<log::LogSummary> log;
  std::vector<std::string> config;  // config files and --key=value, as `plan` takes them
  bool older_pytorch = false;
  // The vocabulary's size of a resolved config; one that looks into the data set is the caller's.
  std::function<std::int64_t(const config::Config&)> vocabulary_of = known_vocabulary;
  CaseDepth depth = CaseDepth::kFixes;
  std::int64_t max_layers = 0;  // of the run that is modelled; 0: all that it has
};

struct DoctorCase {
  std::optional<log::LogSummary> log;
  config::LoadedConfig config;  // with what the log shows
  std::int64_t vocab_size = 0;
  const fit::Card* card = nullptr;
  // The memory of the run that goes with the message; nothing: no config was given, and the log
  // shows none.
  std::optional<torch::TorchMemory> memory;
  std::optional<diagnosis::Diagnosis> diagnosis;
  std::optional<diagnosis::Diagnosis> prediction;  // without a failure
  // What the card can give to one process, context included; 0: unknown.
  std::int64_t card_bytes = 0;
  ByteRange need;  // of that card, context included; both 0: no config
  std::optional<fit::Fixes> fixes;
  std::optional<fixes::TorchProof> proof;  // of what is recommended
};

// Throws LogError for a log that says nothing, or shows no failure where there is no config either;
// ConfigError for a config that no run can have.
DoctorCase examine(CaseInputs inputs);

}  // namespace snug::doctor
