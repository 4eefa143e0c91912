// A memory snapshot: read, named, examined; some also told as text, JSON and page.
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/error.h"
#include "config/diagnostic.h"
#include "doctor/snapshot/reader.h"
#include "doctor/snapshot/snapshot_case.h"
#include "fuzz_targets.h"
#include "report/doctor/snapshot/report.h"

namespace snug {
namespace {

void check(const doctor::snapshot::SnapshotCase& found) {
  const doctor::snapshot::Moment& moment = found.moment();
  require(moment.total_bytes() >= 0, "held bytes are not negative");
  require(moment.named_bytes() <= moment.total_bytes(), "no more is named than held");
  std::int64_t rows = 0;
  for (const doctor::snapshot::HeldTensors& row : moment.rows) rows += row.bytes;
  require(rows == moment.total_bytes(), "the rows add up");
  require(found.free.largest_bytes <= found.free.free_bytes, "a piece is a part of the whole");
  require(found.timeline.points.size() <= doctor::snapshot::kTimelinePoints, "a bounded timeline");
}

}  // namespace

void fuzz_snapshot(std::string_view bytes) try {
  doctor::snapshot::SnapshotInputs inputs;
  inputs.snapshot = doctor::snapshot::read_snapshot(bytes, "fuzz");
  inputs.max_layers = 2;  // more are more of the same, for seconds
  inputs.with_fixes = bytes.size() % 16 == 0;
  const doctor::snapshot::SnapshotCase found =
      doctor::snapshot::examine_snapshot(std::move(inputs));
  check(found);
  if (bytes.size() % 4 != 0) return;
  report::SnapshotReport report;
  report.snapshot_case = &found;
  require(config::is_utf8(report::snapshot_text(report)), "the text is UTF-8");
  require(nlohmann::json::parse(report::snapshot_json(report)).is_object(), "an object of JSON");
  require(config::is_utf8(report::snapshot_page(report)), "the page is UTF-8");
} catch (const DataError&) {
} catch (const ConfigError&) {
}

}  // namespace snug
