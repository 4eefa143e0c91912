// `snug doctor`: what PyTorch's nanoGPT needs of a card, what broke in a log, what to change.
#include <fmt/format.h>

#include "cli/cli.h"
#include "cli/doctor_case.h"
#include "cli/doctor_write.h"

namespace snug {
namespace {

DoctorReport report_of(const DoctorCase& c, const DoctorOptions& options) {
  DoctorReport report;
  report.diagnosis = c.diagnosis;
  report.prediction = c.prediction;
  report.memory = c.memory ? &*c.memory : nullptr;
  report.fixes = c.fixes ? &*c.fixes : nullptr;
  report.card = c.card;
  report.card_bytes = c.card_bytes;
  report.snug = snug_need(c);
  report.explain = options.explain;
  report.color = wants_color(c.config.values.color);
  report.language = options.language;
  return report;
}

}  // namespace

int doctor_command(Arguments arguments) {
  const std::vector<std::string> typed(arguments.begin(), arguments.end());
  const DoctorOptions options = doctor_options(typed, locale_of_environment());
  const DoctorCase c = study(options);
  DoctorReport report = report_of(c, options);
  report.arguments = typed;
  if (options.write) report.not_written = reason_not_to_write(c, options);
  if (options.write && report.not_written.empty()) {
    write_whole(*options.write, corrected_config(c, options), options.language);
    report.written = *options.write;
  }
  if (options.html) write_whole(*options.html, doctor_page(report), options.language);
  fmt::print("{}", options.json ? doctor_json(report) : doctor_text(report));
  return 0;
}

}  // namespace snug
