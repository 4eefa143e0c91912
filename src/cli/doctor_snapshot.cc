#include "cli/doctor_snapshot.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"
#include "cli/cli.h"
#include "cli/doctor_write.h"
#include "doctor/snapshot/reader.h"
#include "report/catalogue/snapshot_texts.h"
#include "report/doctor/snapshot/report.h"

namespace snug::cli {
namespace {

doctor::snapshot::SnapshotCase case_of(
    const DoctorOptions& options,
    std::function<std::int64_t(const config::Config&)> vocabulary_of) {
  doctor::snapshot::SnapshotInputs inputs;
  inputs.snapshot = doctor::snapshot::read_snapshot_file(*options.snapshot);
  inputs.config = options.config;
  inputs.older_pytorch = options.older_pytorch;
  inputs.vocabulary_of = std::move(vocabulary_of);
  return doctor::snapshot::examine_snapshot(std::move(inputs));
}

void write_config(const DoctorOptions& options, const doctor::snapshot::SnapshotCase& found,
                  report::SnapshotReport& report) {
  if (!found.has_config || !found.doctor) {
    throw ConfigError(report::text_in(options.language, report::SnapshotTextId::kErrorWithWrite));
  }
  report.not_written = reason_not_to_write(*found.doctor, options);
  if (!report.not_written.empty()) return;
  write_whole(*options.write, corrected_config(*found.doctor, options), options.language);
  report.written = *options.write;
}

}  // namespace

int doctor_snapshot(const DoctorOptions& options, const std::vector<std::string>& typed,
                    std::function<std::int64_t(const config::Config&)> vocabulary_of) {
  const doctor::snapshot::SnapshotCase found = case_of(options, std::move(vocabulary_of));
  report::SnapshotReport report;
  report.snapshot_case = &found;
  report.arguments = typed;
  report.language = options.language;
  report.color = wants_color(found.doctor ? found.doctor->config.values.color : "auto");
  if (options.write) write_config(options, found, report);
  if (options.html) write_whole(*options.html, report::snapshot_page(report), options.language);
  if (options.json) {
    fmt::print("{}", report::snapshot_json(report));
  } else {
    print_report(report::snapshot_text(report));
  }
  return 0;
}

}  // namespace snug::cli
