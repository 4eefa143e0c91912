// The part of the report about the failure: what it was, when, what held the card.
#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "report/columns.h"
#include "report/doctor/content.h"
#include "report/numbers.h"

namespace snug::report {
namespace {

constexpr std::size_t kCandidatesShown = 4;

bool is_of_the_card(doctor::diagnosis::Cause cause) {
  return cause != doctor::diagnosis::Cause::kHostMemory &&
         cause != doctor::diagnosis::Cause::kNotMemory;
}

std::string headline(const DoctorReport& report, const doctor::diagnosis::Diagnosis& d) {
  const Language language = report.language;
  std::string asked;
  if (d.request_bytes > 0 && d.cause != doctor::diagnosis::Cause::kNotMemory) {
    const std::string request = bytes_in(language, d.request_bytes);
    asked = d.free_bytes && is_of_the_card(d.cause)
                ? text_in(language, TextId::kAskedWhereFree,
                          {request, bytes_in(language, *d.free_bytes)})
                : text_in(language, TextId::kAsked, {request});
  }
  return sentences(language, text_in(language, headline_texts(d.cause)), asked);
}

std::vector<std::string> what_lines(const DoctorReport& report,
                                    const doctor::diagnosis::Candidate& c) {
  const Language language = report.language;
  std::vector<std::string> lines = {candidate_line(language, c)};
  const std::string meaning = shape_in_words(report, c);
  if (!meaning.empty()) lines.push_back(meaning);
  std::vector<std::string> more;
  if (!c.op.empty()) more.push_back(text_in(language, TextId::kByOperator, {clean(c.op)}));
  if (c.count > 1) more.push_back(text_in(language, TextId::kAlike, {std::to_string(c.count)}));
  if (!more.empty()) lines.push_back(listed(language, more));
  lines.push_back(candidate_confidence(language, c));
  return lines;
}

// Guesses about the number stand in a list, unless the traceback leaves one that is likely.
bool is_listed(const doctor::diagnosis::Candidate& c) {
  return c.evidence == doctor::diagnosis::Evidence::kGuess || (c.guess && c.confidence < 0.5);
}

// What the line of the traceback says of all guesses that go with it, whatever their shape.
std::optional<doctor::diagnosis::Candidate> named_by_frame(const doctor::diagnosis::Diagnosis& d) {
  const doctor::diagnosis::Candidate& first = d.candidates.front();
  if (first.evidence != doctor::diagnosis::Evidence::kSizeAndFrame) return std::nullopt;
  doctor::diagnosis::Candidate named;
  named.tensor = first.tensor;
  named.label = first.label;
  named.bytes = first.bytes;
  named.evidence = first.evidence;
  for (const doctor::diagnosis::Candidate& c : d.candidates) {
    const bool is_alike = c.evidence == first.evidence && c.label == first.label;
    if (is_alike) named.confidence += c.confidence;
  }
  return named;
}

// What the figures rule out, for a cause that is another.
std::string not_the_cause(Language language, const doctor::diagnosis::Diagnosis& d) {
  std::vector<std::string> items;
  if (d.cause != doctor::diagnosis::Cause::kFragmentation && d.unallocated_bytes) {
    items.push_back(
        text_in(language, TextId::kNotFragmentation, {bytes_in(language, *d.unallocated_bytes)}));
  }
  if (d.cause != doctor::diagnosis::Cause::kCoTenant) {
    // As in the bars above: what is there has its amount, also where it is too little for a
    // process.
    if (d.others_bytes.value_or(0) > 0) {
      items.push_back(
          text_in(language, TextId::kNotOthersSome, {bytes_in(language, *d.others_bytes)}));
    } else if (d.others_bytes || d.alone_on_card) {
      items.push_back(text_in(language, TextId::kNotOthersNone));
    }
  }
  return listed(language, items);
}

bool rules_things_out(doctor::diagnosis::Cause cause) {
  return cause == doctor::diagnosis::Cause::kCapacity ||
         cause == doctor::diagnosis::Cause::kStatesExceedCard ||
         cause == doctor::diagnosis::Cause::kFragmentation ||
         cause == doctor::diagnosis::Cause::kCoTenant;
}

DoctorFacts first_facts(const DoctorReport& report, const doctor::diagnosis::Diagnosis& d) {
  const Language language = report.language;
  DoctorFacts facts;
  const auto add = [&](TextId label, std::vector<std::string> lines) {
    facts.facts.push_back({text_in(language, label), std::move(lines)});
  };
  const bool has_candidate = !d.candidates.empty();
  if (has_candidate && !is_listed(d.candidates.front())) {
    add(TextId::kWhatItWas, what_lines(report, d.candidates.front()));
  } else if (const auto named = has_candidate ? named_by_frame(d) : std::nullopt) {
    add(TextId::kWhatItWas, what_lines(report, *named));
  } else if (d.cause == doctor::diagnosis::Cause::kCapacity && d.request_bytes > 0 &&
             report.memory != nullptr) {
    add(TextId::kWhatItWas, {text_in(language, TextId::kNothingOfThatSize)});
  }
  if (d.phase && is_of_the_card(d.cause))
    add(TextId::kWhen, {text_in(language, texts_of(*d.phase))});
  const std::string ruled_out = rules_things_out(d.cause) ? not_the_cause(language, d) : "";
  if (!ruled_out.empty()) add(TextId::kNotTheCause, {ruled_out});
  if (d.event && !d.event->text.empty() && d.candidates.empty()) {
    add(TextId::kTheMessage, {clean(d.event->text)});
  }
  return facts;
}

DoctorBars held_by_message(const DoctorReport& report, const doctor::diagnosis::Diagnosis& d) {
  const Language language = report.language;
  DoctorBars bars;
  bars.language = language;
  bars.title = text_in(language, TextId::kHeldByMessage);
  std::int64_t known = 0;
  const auto add = [&](TextId part, const std::optional<std::int64_t>& bytes, Band band) {
    if (!bytes || *bytes <= 0) return;
    bars.bars.push_back({text_in(language, part), *bytes, part == TextId::kPartFree, band});
    known += *bytes;
  };
  add(TextId::kPartAllocated, d.allocated_bytes, Band::kTensors);
  add(TextId::kPartUnallocated, d.unallocated_bytes, Band::kWorkspace);
  add(TextId::kPartContext, d.context_bytes, Band::kOutside);
  add(d.others_are_estimated ? TextId::kPartOthersEstimated : TextId::kPartOthers, d.others_bytes,
      Band::kOthers);
  add(TextId::kPartFree, d.free_bytes, Band::kUnknown);
  if (bars.bars.empty()) return bars;
  constexpr std::int64_t kWorthSaying = 16 * kMiB;  // the message's figures are rounded
  const std::int64_t rest = d.capacity_bytes.value_or(0) - known;
  if (rest > kWorthSaying) add(TextId::kPartUnknown, rest, Band::kUnknown);
  bars.whole_bytes = std::max(known, d.capacity_bytes.value_or(0));
  if (d.capacity_bytes) {
    add(TextId::kPartTotal, d.capacity_bytes, Band::kUnknown);
  }
  for (const doctor::log::LogProcess& process : d.other_processes) {
    const std::string pid = std::to_string(process.pid);
    bars.lines.push_back(
        process.in_use ? text_in(language, TextId::kProcessHolds,
                                 {pid, bytes_in(language, (process.in_use->low_bytes / 2) +
                                                              (process.in_use->high_bytes / 2))})
                       : text_in(language, TextId::kProcessUnknown, {pid}));
  }
  return bars;
}

// The first stands above, unless all are guesses from the bare number.
DoctorPoints other_candidates(const DoctorReport& report, const doctor::diagnosis::Diagnosis& d) {
  const Language language = report.language;
  DoctorPoints points;
  if (d.candidates.empty()) return points;
  const bool are_guesses = is_listed(d.candidates.front());
  points.title = text_in(language, are_guesses ? TextId::kReadingsTitle : TextId::kCandidatesTitle);
  for (std::size_t i = are_guesses ? 0 : 1; i < d.candidates.size(); ++i) {
    if (points.points.size() >= (are_guesses ? d.candidates.size() : kCandidatesShown)) break;
    const doctor::diagnosis::Candidate& c = d.candidates[i];
    std::string text = candidate_line(language, c);
    const std::string meaning = shape_in_words(report, c);
    if (!meaning.empty()) text += fmt::format("\n{}", meaning);
    if (c.phase) text += fmt::format("\n{}", text_in(language, texts_of(*c.phase)));
    points.points.push_back(fmt::format("{}\n{}", text, candidate_confidence(language, c)));
  }
  return points;
}

std::string would_train(const DoctorReport& report, const doctor::diagnosis::Diagnosis& d) {
  const std::int64_t capacity =
      report.card_bytes > 0 ? report.card_bytes : d.capacity_bytes.value_or(0);
  if (report.memory == nullptr || d.worst_peak_bytes <= 0 || capacity <= 0) return "";
  // It did not, and the model cannot tell why: a note says so.
  if (d.trial && !d.trial->fails) return "";
  const ByteRange vram = report.need;
  const std::int64_t minimum = d.worst_peak_bytes + report.memory->context_range.low_bytes;
  const TextId answer = minimum > capacity           ? TextId::kTrainNo
                        : vram.high_bytes > capacity ? TextId::kTrainTight
                                                     : TextId::kTrainYes;
  // The message says otherwise.
  const bool is_full = d.cause == doctor::diagnosis::Cause::kCapacity ||
                       d.cause == doctor::diagnosis::Cause::kStatesExceedCard;
  if (d.event && is_full && answer == TextId::kTrainYes) return "";
  return text_in(report.language, answer,
                 {range_text(report.language, std::min(minimum, vram.high_bytes), vram.high_bytes),
                  bytes_in(report.language, capacity)});
}

}  // namespace

void add_diagnosis(const DoctorReport& report, DoctorContent& content) {
  const doctor::diagnosis::Diagnosis& d = *report.diagnosis;
  const Language language = report.language;
  content.tone = d.cause == doctor::diagnosis::Cause::kNotMemory ||
                         d.cause == doctor::diagnosis::Cause::kUnknown
                     ? Tone::kWarn
                     : Tone::kBad;
  content.headline = headline(report, d);
  content.explanation = text_in(language, explanation_texts(d.cause));
  content.blocks.push_back(first_facts(report, d));
  if (is_of_the_card(d.cause)) {
    content.blocks.push_back(held_by_message(report, d));
    if (report.memory != nullptr) content.blocks.push_back(held_by_model(report));
    content.blocks.push_back(other_candidates(report, d));
    const std::string trains = would_train(report, d);
    if (!trains.empty()) {
      content.blocks.push_back(DoctorFacts{{{text_in(language, TextId::kWouldTrain), {trains}}}});
    }
  }
}

}  // namespace snug::report
