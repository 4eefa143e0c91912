#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <utility>

#include "base/error.h"
#include "config/diagnostic.h"
#include "doctor/case.h"
#include "doctor/log/reader.h"
#include "fuzz_targets.h"
#include "report/doctor/report.h"

namespace snug {
namespace {

void check(const doctor::log::LogSummary& log, std::size_t size) {
  require(log.byte_count == static_cast<std::int64_t>(size), "all bytes are read");
  for (const doctor::log::LogEvent& event : log.events) {
    require(event.line <= log.line_count, "an event stands on a line");
    require(event.text.size() <= 2000, "a message is short");
    for (const std::optional<doctor::log::LogAmount>& amount :
         {event.request, doctor::log::request_range(event),
          doctor::log::unallocated_range(event)}) {
      require(!amount || (0 <= amount->low_bytes && amount->low_bytes <= amount->high_bytes),
              "a range has its ends in order");
    }
  }
}

void check(const doctor::diagnosis::Diagnosis& diagnosis) {
  double confidence = 0;
  for (const doctor::diagnosis::Candidate& candidate : diagnosis.candidates) {
    require(candidate.confidence >= 0 && candidate.bytes >= 0, "a candidate has a size");
    confidence += candidate.confidence;
  }
  require(confidence <= 1.0 + 1e-9, "confidences add up to at most 1");
  require(diagnosis.candidates.size() <= 8, "at most eight candidates");
  require(diagnosis.others_bytes.value_or(0) >= 0, "others hold something or nothing");
}

void check_text_and_json(const report::DoctorReport& report) {
  require(config::is_utf8(report::doctor_text(report)), "the text is UTF-8");
  require(nlohmann::json::parse(report::doctor_json(report)).is_object(), "the JSON is an object");
}

doctor::CaseDepth depth_of(LogDepth depth) {
  if (depth >= LogDepth::kFixes) return doctor::CaseDepth::kFixes;
  return depth >= LogDepth::kModel ? doctor::CaseDepth::kModel : doctor::CaseDepth::kDiagnosis;
}

}  // namespace

void fuzz_log(std::string_view bytes, LogDepth depth) try {
  std::istringstream stream{std::string(bytes)};
  doctor::CaseInputs inputs;
  inputs.log = doctor::log::read_log(stream);
  check(*inputs.log, bytes.size());
  inputs.depth = depth_of(depth);
  inputs.max_layers = 2;  // more are more of the same, for seconds
  const doctor::DoctorCase c = doctor::examine(std::move(inputs));
  for (const std::optional<doctor::diagnosis::Diagnosis>* found : {&c.diagnosis, &c.prediction}) {
    if (*found) check(**found);
  }
  report::DoctorReport report = report::doctor_report(c);
  report.explain = true;
  if (depth >= LogDepth::kReport) check_text_and_json(report);
  if (depth >= LogDepth::kFixes)
    require(config::is_utf8(report::doctor_page(report)), "the page is UTF-8");
} catch (const ConfigError&) {
} catch (const doctor::log::LogError&) {
}

void fuzz_log(std::string_view bytes) {
  constexpr LogDepth kDepths[] = {LogDepth::kFixes, LogDepth::kModel, LogDepth::kReport,
                                  LogDepth::kReport};
  const std::size_t turn = bytes.size() % 16;
  fuzz_log(bytes, turn < std::size(kDepths) ? kDepths[turn] : LogDepth::kDiagnosis);
}

}  // namespace snug
