// `snug doctor`: what PyTorch's nanoGPT needs of a card, what broke in a log, what to change.
#include <fmt/format.h>

#include <iostream>
#include <utility>

#include "base/error.h"
#include "cli/cli.h"
#include "cli/doctor_snapshot.h"
#include "cli/doctor_write.h"
#include "cli/snug_need.h"
#include "data/vocabulary.h"
#include "doctor/log/reader.h"
#include "report/doctor/log_error.h"

namespace snug::cli {
namespace {

std::int64_t vocabulary_of(const config::Config& config) {
  try {
    config::LoadedConfig loaded;
    loaded.values = config;
    const data::Vocabulary found = data::find_vocabulary(loaded);
    return found.meta ? found.size : doctor::known_vocabulary(config);
  } catch (const DataError&) {  // a damaged meta.pkl is no reason to say nothing of the log
    return config::kPaddedGpt2Vocabulary;
  }
}

doctor::DoctorCase case_of(const DoctorOptions& options) try {
  doctor::CaseInputs inputs;
  if (options.log == "-") {
    inputs.log = doctor::log::read_log(std::cin);
  } else if (options.log) {
    inputs.log = doctor::log::read_log_file(*options.log);
  }
  inputs.config = options.config;
  inputs.older_pytorch = options.older_pytorch;
  inputs.vocabulary_of = vocabulary_of;
  return doctor::examine(std::move(inputs));
} catch (const doctor::log::LogError& error) {
  throw DataError(report::log_error_text(options.language, error));
}

report::DoctorReport report_of(const doctor::DoctorCase& c, const DoctorOptions& options) {
  report::DoctorReport report = report::doctor_report(c);
  report.snug = snug_need(c);
  report.explain = options.explain;
  report.color = wants_color(c.config.values.color);
  report.language = options.language;
  return report;
}

}  // namespace

int doctor_command(Arguments arguments) {
  const std::vector<std::string> typed = with_file_options({arguments.begin(), arguments.end()});
  const DoctorOptions options = doctor_options(typed, report::locale_of_environment());
  if (options.snapshot) return doctor_snapshot(options, typed, vocabulary_of);
  const doctor::DoctorCase c = case_of(options);
  report::DoctorReport report = report_of(c, options);
  report.arguments = typed;
  if (options.write) report.not_written = reason_not_to_write(c, options);
  if (options.write && report.not_written.empty()) {
    write_whole(*options.write, corrected_config(c, options), options.language);
    report.written = *options.write;
  }
  if (options.html) write_whole(*options.html, report::doctor_page(report), options.language);
  if (options.json) {
    fmt::print("{}", report::doctor_json(report));
  } else {
    print_report(report::doctor_text(report));
  }
  return 0;
}

}  // namespace snug::cli
