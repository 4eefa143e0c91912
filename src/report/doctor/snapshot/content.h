// What the report on a snapshot says, in its order and language. Internal to text, JSON and page.
#pragma once

#include <string>

#include "report/doctor/content.h"
#include "report/doctor/snapshot/report.h"

namespace snug::report {

DoctorContent snapshot_content(const SnapshotReport& report);

// The parts that it puts together.
DoctorFacts snapshot_facts(const SnapshotReport& report);
DoctorBars snapshot_bars(const SnapshotReport& report);
DoctorTable snapshot_tensors(const SnapshotReport& report);
void add_comparison(const SnapshotReport& report, DoctorContent& content);
DoctorPoints snapshot_advice(const SnapshotReport& report);

Band band_of(doctor::snapshot::Role role);
// "logits", "h.*.mlp.gelu output"; of what has no label its role.
std::string tensor_title(const SnapshotReport& report, const doctor::snapshot::Name& name);
// "model.py:88"; empty: no frames.
std::string place_text(const SnapshotReport& report, const doctor::snapshot::Name& name);

}  // namespace snug::report
