#include "report/doctor/snapshot/content.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/shell_word.h"
#include "report/catalogue/snapshot_texts.h"
#include "report/columns.h"
#include "report/doctor/rendering.h"
#include "report/numbers.h"
#include "report/shell_command.h"

namespace snug::report {
namespace {

using doctor::snapshot::Failure;
using doctor::snapshot::FailureCause;
using doctor::snapshot::Role;
using doctor::snapshot::SnapshotCase;

std::int64_t tensor_count(const doctor::snapshot::Moment& moment) {
  std::int64_t count = 0;
  for (const doctor::snapshot::HeldTensors& row : moment.rows) count += row.count;
  return count;
}

void add_answer(const SnapshotReport& report, DoctorContent& content) {
  const Language language = report.language;
  const SnapshotCase& found = *report.snapshot_case;
  const auto bytes = [&](std::int64_t amount) { return bytes_in(language, amount); };
  if (found.failure) {
    const Failure& failure = *found.failure;
    content.tone = Tone::kBad;
    content.headline = text_in(language, SnapshotTextId::kFailed,
                               {bytes(failure.request_bytes), bytes(failure.device_free_bytes)});
    content.explanation =
        failure.cause == FailureCause::kCapacity
            ? text_in(language, SnapshotTextId::kCapacity,
                      {bytes(failure.free.free_bytes), bytes(failure.free.largest_bytes)})
            : text_in(language, SnapshotTextId::kFragmented,
                      {bytes(failure.free.free_bytes), bytes(failure.device_free_bytes),
                       bytes(std::max(failure.free.largest_bytes, failure.device_free_bytes))});
    return;
  }
  const std::int64_t total = found.now.total_bytes();
  content.headline = total == 0
                         ? text_in(language, SnapshotTextId::kHoldsNothing)
                         : text_in(language, SnapshotTextId::kHolds,
                                   {bytes(total), thousands_in(language, tensor_count(found.now))});
  if (found.snapshot.trace.event_count > 0)
    content.explanation = text_in(language, SnapshotTextId::kNothingFailed);
}

// The fixes of the doctor, for the run that the config or the snapshot describes.
void add_doctor_fixes(const SnapshotReport& report, DoctorContent& content) {
  const SnapshotCase& found = *report.snapshot_case;
  if (!found.doctor || !found.doctor->fixes) return;
  DoctorReport of_doctor = doctor_report(*found.doctor);
  of_doctor.language = report.language;
  add_fixes(of_doctor, content);
}

// As typed, without what only says where the report goes.
std::vector<std::string> again(const SnapshotReport& report, const std::string& last) {
  std::vector<std::string> words{"snug", "doctor"};
  for (const std::string& word : report.arguments) {
    const bool goes =
        word.starts_with("--json") || word.starts_with("--html") || word.starts_with("--write");
    if (!goes) words.push_back(clean(shell_quoted(word)));
  }
  words.push_back(last);
  return words;
}

DoctorFacts last_facts(const SnapshotReport& report) {
  const SnapshotCase& found = *report.snapshot_case;
  const Language language = report.language;
  DoctorFacts facts;
  const auto command = [&](TextId label, std::vector<std::string> words) {
    facts.facts.push_back({text_in(language, label), std::move(words), true});
  };
  if (!report.written.empty()) {
    facts.facts.push_back({text_in(language, TextId::kWriteIt),
                           {text_in(language, TextId::kWrote, {clean(report.written)})}});
    command(TextId::kRunIt, {"python", "train.py", clean(shell_quoted(report.written))});
  } else if (!report.not_written.empty()) {
    facts.facts.push_back({text_in(language, TextId::kWriteIt), {report.not_written}});
  } else if (!found.has_config) {
    command(TextId::kGiveConfig, again(report, "config/train_gpt2.py"));
  } else if (found.doctor && found.doctor->fixes && found.doctor->fixes->chosen) {
    command(TextId::kWriteIt, again(report, "--write=config/fits.py"));
  }
  return facts;
}

bool shows_nothing(const DoctorBlock& block) {
  if (const auto* facts = std::get_if<DoctorFacts>(&block)) return facts->facts.empty();
  if (const auto* bars = std::get_if<DoctorBars>(&block)) return bars->bars.size() < 2;
  if (const auto* points = std::get_if<DoctorPoints>(&block)) return points->points.empty();
  if (const auto* table = std::get_if<DoctorTable>(&block)) return table->rows.empty();
  return false;
}

}  // namespace

DoctorContent snapshot_content(const SnapshotReport& report) {
  DoctorContent content;
  add_answer(report, content);
  content.blocks.push_back(snapshot_facts(report));
  content.blocks.push_back(snapshot_bars(report));
  content.blocks.push_back(snapshot_tensors(report));
  add_comparison(report, content);
  content.blocks.push_back(snapshot_advice(report));
  add_doctor_fixes(report, content);
  content.blocks.push_back(last_facts(report));
  std::erase_if(content.blocks, shows_nothing);
  return content;
}

std::string snapshot_text(const SnapshotReport& report) {
  return content_text(snapshot_content(report), report.color);
}

}  // namespace snug::report
