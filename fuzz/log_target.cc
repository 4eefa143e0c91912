#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>

#include "base/bytes.h"
#include "base/error.h"
#include "config/diagnostic.h"
#include "doctor/fixes/fixes.h"
#include "doctor/log/reader.h"
#include "fuzz_targets.h"
#include "report/doctor/report.h"

namespace snug {
namespace {

const Card* card_of(const LogSummary& log) {
  for (const LogCard& card : log.facts.cards) {
    if (const Card* known = find_card(card.name)) return known;
  }
  return nullptr;
}

std::int64_t card_bytes_of(const Diagnosis& diagnosis, const Card* card) {
  if (diagnosis.capacity_bytes) {
    return *diagnosis.capacity_bytes - diagnosis.others_bytes.value_or(0);
  }
  return card == nullptr ? 0 : card->reported_mib * kMiB - display_bytes(*card);
}

// The run that the log shows. More layers are more of the same, for seconds.
TorchMemory model_run(const LogSummary& log, const Card* card, LoadedConfig& config) {
  resolve(config);
  config.values.n_layer = std::min<std::int64_t>(config.values.n_layer, 2);
  config.values.checkpoint_blocks =
      std::min(config.values.checkpoint_blocks, config.values.n_layer);
  const bool lacks_bfloat16 = card != nullptr && card->bf16_tflops == 0;
  if (lacks_bfloat16 && !config.is_set("dtype")) config.values.dtype = "float16";
  const std::int64_t vocab_size = config.values.vocab_size > 0 ? config.values.vocab_size : 50304;
  return torch_memory(torch_run_of(config.values, vocab_size, &log));
}

void check(const LogSummary& log, std::size_t size) {
  require(log.byte_count == static_cast<std::int64_t>(size), "all bytes are read");
  for (const LogEvent& event : log.events) {
    require(event.line <= log.line_count, "an event stands on a line");
    require(event.text.size() <= 2000, "a message is short");
    for (const std::optional<LogAmount>& amount :
         {event.request, request_range(event), unallocated_range(event)}) {
      require(!amount || (0 <= amount->low_bytes && amount->low_bytes <= amount->high_bytes),
              "a range has its ends in order");
    }
  }
}

void check(const Diagnosis& diagnosis) {
  double confidence = 0;
  for (const Candidate& candidate : diagnosis.candidates) {
    require(candidate.confidence >= 0 && candidate.bytes >= 0, "a candidate has a size");
    confidence += candidate.confidence;
  }
  require(confidence <= 1.0 + 1e-9, "confidences add up to at most 1");
  require(diagnosis.candidates.size() <= 8, "at most eight candidates");
  require(diagnosis.others_bytes.value_or(0) >= 0, "others hold something or nothing");
}

void check_text_and_json(const DoctorReport& report) {
  require(is_utf8(doctor_text(report)), "the text is UTF-8");
  require(nlohmann::json::parse(doctor_json(report)).is_object(), "the JSON is an object");
}

}  // namespace

void fuzz_log(std::string_view bytes, LogDepth depth) try {
  std::istringstream stream{std::string(bytes)};
  const LogSummary log = read_log(stream);
  check(log, bytes.size());
  LoadedConfig config = read_config(Command::kPlan, {});
  const LogSettingsTaken taken = take_settings_from_log(log, config);
  const Card* const card = card_of(log);
  std::optional<TorchMemory> memory;
  if (taken.describes_run && depth >= LogDepth::kModel) memory = model_run(log, card, config);
  DoctorReport report;
  report.diagnosis = diagnose(&log, memory ? &*memory : nullptr, card);
  check(*report.diagnosis);
  auto& notes = report.diagnosis->notes;
  notes.insert(notes.begin(), taken.notes.begin(), taken.notes.end());
  if (report.diagnosis->matched_run) memory = torch_memory(*report.diagnosis->matched_run);
  report.memory = memory ? &*memory : nullptr;
  report.card = card;
  report.card_bytes = card_bytes_of(*report.diagnosis, card);
  report.explain = true;
  std::optional<TorchFixes> fixes;
  if (memory && depth >= LogDepth::kFixes) {
    config.values.compile = memory->run.compiled;
    fixes = torch_fixes(config, memory->run, report.card_bytes, card, &*report.diagnosis);
    report.fixes = &*fixes;
  }
  if (depth >= LogDepth::kReport) check_text_and_json(report);
  if (depth >= LogDepth::kFixes) require(is_utf8(doctor_page(report)), "the page is UTF-8");
} catch (const ConfigError&) {
}

void fuzz_log(std::string_view bytes) {
  constexpr LogDepth kDepths[] = {LogDepth::kFixes, LogDepth::kModel, LogDepth::kReport,
                                  LogDepth::kReport};
  const std::size_t turn = bytes.size() % 16;
  fuzz_log(bytes, turn < std::size(kDepths) ? kDepths[turn] : LogDepth::kDiagnosis);
}

}  // namespace snug
