// One snapshot from end to end: what it holds, what failed, and what the doctor advises for the run
// that it shows. Nothing here reads the terminal or says a sentence.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "doctor/case.h"
#include "doctor/snapshot/comparison.h"
#include "doctor/snapshot/moment.h"
#include "doctor/snapshot/names.h"
#include "doctor/snapshot/snapshot.h"
#include "doctor/snapshot/timeline.h"

namespace snug::doctor::snapshot {

struct SnapshotInputs {
  Snapshot snapshot;
  std::vector<std::string> config;  // files and --key=value; empty: what the snapshot shows
  bool older_pytorch = false;
  std::function<std::int64_t(const config::Config&)> vocabulary_of = known_vocabulary;
  std::int64_t max_layers = 0;  // of the run that is modelled; 0: all
  bool with_fixes = true;
};

enum class FailureCause : std::uint8_t {
  kCapacity,       // card and cache together did not have the bytes
  kFragmentation,  // they had them, but not in one piece
};

struct Failure {
  Name tensor;  // what was asked for; its role may be unknown
  std::int64_t request_bytes = 0;
  std::int64_t device_free_bytes = 0;
  FreeMemory free;  // of PyTorch's cache
  std::int64_t reserved_bytes = 0;
  Moment held;
  FailureCause cause = FailureCause::kCapacity;
  torch::TorchPhase phase = torch::TorchPhase::kForward;
  std::int64_t count = 0;  // failures in the record; this is the last
};

struct SnapshotCase {
  Snapshot snapshot;
  InferredModel inferred;
  Names names;
  Moment now;
  FreeMemory free;
  std::optional<Failure> failure;
  Timeline timeline;
  bool has_config = false;
  // Of the config, else of the sizes that the snapshot shows; nothing: it shows no GPT.
  std::optional<DoctorCase> doctor;
  std::optional<Comparison> comparison;

  // The moment that matters: that of the failure, else now.
  const Moment& moment() const { return failure ? failure->held : now; }
};

// Throws ConfigError for a config that no run can have.
SnapshotCase examine_snapshot(SnapshotInputs inputs);

}  // namespace snug::doctor::snapshot
