// A memory snapshot as people and scripts read it: text, JSON, and a page with its timeline.
#pragma once

#include <string>
#include <vector>

#include "doctor/snapshot/snapshot_case.h"
#include "report/catalogue/messages.h"

namespace snug::report {

// The case is the caller's, and outlives the report.
struct SnapshotReport {
  const doctor::snapshot::SnapshotCase* snapshot_case = nullptr;
  std::vector<std::string> arguments;  // after `snug doctor`, as typed
  std::string written;                 // the file that --write made; empty: none
  std::string not_written;             // why --write made none
  bool color = false;
  Language language = Language::kEnglish;
};

std::string snapshot_text(const SnapshotReport& report);

// One JSON object; its members are documented in docs/formats.md.
std::string snapshot_json(const SnapshotReport& report);

// One HTML page that needs nothing else: no network, no other file.
std::string snapshot_page(const SnapshotReport& report);

}  // namespace snug::report
