#include "report/doctor/content.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/bytes.h"
#include "base/shell_word.h"
#include "report/columns.h"
#include "report/numbers.h"
#include "report/plan/budget_text.h"
#include "report/shell_command.h"

namespace snug::report {
namespace {

bool is_myth(const doctor::diagnosis::Note& note) {
  return note.id >= doctor::diagnosis::NoteId::kMythEvaluationKeepsGraph;
}

// No setting of the run can help.
bool helps_to_change_settings(const DoctorReport& report) {
  if (!report.diagnosis) return true;
  switch (report.diagnosis->cause) {
    case doctor::diagnosis::Cause::kNotMemory:
    case doctor::diagnosis::Cause::kHostMemory:
    case doctor::diagnosis::Cause::kDriver:  // outside of PyTorch's allocator, as the next
    case doctor::diagnosis::Cause::kLibrary:
      return false;
    default:
      return true;
  }
}

DoctorPoints notes_of(const DoctorReport& report, bool myths) {
  DoctorPoints points;
  points.title = text_in(report.language, myths ? TextId::kMythsTitle : TextId::kNotesTitle);
  for (const doctor::diagnosis::Note& note : report.conclusions()->notes) {
    if (is_myth(note) == myths) points.points.push_back(clean(text_in(report.language, note)));
  }
  return points;
}

DoctorPoints assumptions_of(const DoctorReport& report) {
  DoctorPoints points;
  points.title = text_in(report.language, TextId::kExplainTitle);
  for (const doctor::torch::TorchAssumption& assumption :
       doctor::torch::torch_assumptions(report.memory->run)) {
    points.points.push_back(text_in(report.language, assumption));
  }
  points.points.push_back(time_assumption(report));
  return points;
}

std::string snug_sentence(const DoctorReport& report) {
  const SnugNeed& need = *report.snug;
  const bool as_is = need.changes.empty(), is_named = !need.device.empty();
  const TextId on_named = need.fits
                              ? (as_is ? TextId::kSnugFits : TextId::kSnugFitsWith)
                              : (as_is ? TextId::kSnugDoesNotFit : TextId::kSnugDoesNotFitWith);
  const TextId of_card = need.fits
                             ? (as_is ? TextId::kSnugFitsIn : TextId::kSnugFitsInWith)
                             : (as_is ? TextId::kSnugDoesNotFitIn : TextId::kSnugDoesNotFitInWith);
  const std::string sentence =
      text_in(report.language, is_named ? on_named : of_card,
              {bytes_in(report.language, need.total_bytes),
               is_named ? clean(need.device) : bytes_in(report.language, report.given_bytes()),
               clean(need.changes)});
  if (need.card == nullptr) return sentence;
  return sentences(report.language, sentence,
                   support_text(report.language, need.support, *need.card));
}

// As typed, without what only says where the report goes.
std::vector<std::string> typed(const DoctorReport& report) {
  std::vector<std::string> words;
  for (const std::string& word : report.arguments) {
    if (word.starts_with("--json") || word.starts_with("--html") || word.starts_with("--write") ||
        word.starts_with("--explain")) {
      continue;
    }
    words.push_back(clean(shell_quoted(word)));
  }
  return words;
}

bool names_log(const DoctorReport& report) {
  return std::any_of(report.arguments.begin(), report.arguments.end(), [](const std::string& word) {
    return word == "-" || word.starts_with("--log");
  });
}

bool can_write(const DoctorReport& report) {
  return report.fixes != nullptr && report.fixes->chosen && !report.fixes->chosen->changes.empty();
}

// The run is the doctor's own guess: with the config everything is exact.
bool is_assumed(const DoctorReport& report) {
  if (!report.diagnosis) return false;
  const auto& notes = report.diagnosis->notes;
  return std::any_of(notes.begin(), notes.end(), [](const doctor::diagnosis::Note& note) {
    return note.id == doctor::diagnosis::NoteId::kAssumedRun;
  });
}

DoctorFacts last_facts(const DoctorReport& report) {
  const Language language = report.language;
  DoctorFacts facts;
  const auto command = [&](TextId label, std::vector<std::string> words) {
    facts.facts.push_back({text_in(language, label), std::move(words), true});
  };
  // `snug doctor` with its arguments between others.
  const auto again = [&](std::vector<std::string> first, const char* last) {
    std::vector<std::string> words{"snug", "doctor"};
    for (std::string& word : first) words.push_back(std::move(word));
    for (std::string& word : typed(report)) words.push_back(std::move(word));
    if (last != nullptr) words.emplace_back(last);
    return words;
  };
  if (report.snug) {
    facts.facts.push_back({text_in(language, TextId::kInSnug), {snug_sentence(report)}});
  }
  if (!report.written.empty()) {
    const std::string name = clean(report.written);
    facts.facts.push_back(
        {text_in(language, TextId::kWriteIt), {text_in(language, TextId::kWrote, {name})}});
    command(TextId::kRunIt, {"python", "train.py", clean(shell_quoted(report.written))});
  } else if (!report.not_written.empty()) {
    facts.facts.push_back({text_in(language, TextId::kWriteIt), {report.not_written}});
  } else if (!helps_to_change_settings(report)) {
    return facts;
  } else if (report.memory == nullptr || is_assumed(report)) {
    command(TextId::kGiveConfig, again({"config/train_gpt2.py"}, nullptr));
  } else if (can_write(report)) {
    command(TextId::kWriteIt, again({}, "--write=config/fits.py"));
    command(TextId::kRunIt, {"python", "train.py", "config/fits.py"});
  } else if (!report.diagnosis && !names_log(report)) {
    command(TextId::kGiveLog, again({}, "--log=oom.txt"));
  }
  return facts;
}

bool is_empty(const DoctorBlock& block) {
  if (const auto* facts = std::get_if<DoctorFacts>(&block)) return facts->facts.empty();
  if (const auto* bars = std::get_if<DoctorBars>(&block)) return bars->bars.empty();
  if (const auto* points = std::get_if<DoctorPoints>(&block)) return points->points.empty();
  if (const auto* table = std::get_if<DoctorTable>(&block)) return table->rows.empty();
  return false;
}

}  // namespace

std::string time_assumption(const DoctorReport& report) {
  if (report.card == nullptr) return text_in(report.language, TextId::kTimesWithoutCard);
  return text_in(report.language, TextId::kTimesOfCard, {std::string(report.card->name)});
}

DoctorContent doctor_content(const DoctorReport& report) {
  DoctorContent content;
  if (report.diagnosis) {
    add_diagnosis(report, content);
    content.blocks.push_back(notes_of(report, false));
  } else if (report.memory != nullptr) {
    add_need(report, content);
    if (report.prediction) content.blocks.push_back(notes_of(report, false));
  }
  if (helps_to_change_settings(report)) add_fixes(report, content);
  if (report.conclusions() != nullptr) content.blocks.push_back(notes_of(report, true));
  if (report.explain && report.memory != nullptr) {
    if (report.diagnosis) content.blocks.push_back(phase_table_of(report));
    content.blocks.push_back(assumptions_of(report));
  }
  content.blocks.push_back(last_facts(report));
  std::erase_if(content.blocks, is_empty);
  return content;
}

}  // namespace snug::report
