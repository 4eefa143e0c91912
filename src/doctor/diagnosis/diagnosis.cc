#include "doctor/diagnosis/diagnosis.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "doctor/diagnosis/cause.h"
#include "doctor/diagnosis/evidence.h"
#include "doctor/diagnosis/guesses.h"
#include "doctor/diagnosis/match.h"
#include "doctor/diagnosis/note_makers.h"
#include "doctor/diagnosis/run.h"

namespace snug {
namespace {

constexpr std::size_t kMaxCandidates = 8;
// GPT-2 of 124M, llm.c's default, at 16 bytes per parameter.
constexpr std::int64_t kLlmCStatesBytes = std::int64_t{124439808} * 16;

void drop_negligible(std::vector<Candidate>& candidates) {
  std::erase_if(candidates, [](const Candidate& c) { return c.confidence < 0.01; });
}

// One diagnosis of one log.
class Examination {
 public:
  Examination(const LogSummary& log, const LogEvent& event, const TorchMemory* memory,
              const Card* card)
      : log_(log),
        event_(event),
        memory_(memory),
        card_(card),
        account_(account_of(event, card, shows_ddp(log.facts))) {
    if (memory != nullptr) given_ = memory->run;
  }

  Diagnosis run();

 private:
  void find_cause();
  void find_candidates();
  void find_by_shape(const Candidate& shaped, bool is_of_config);
  void find_by_size(const LogAmount& request);
  void add_frame_candidate(const LogAmount& request);
  void find_phase();
  void fill_account();
  void add_matched_note();
  void add_notes();

  const LogSummary& log_;
  const LogEvent& event_;
  const TorchMemory* memory_;
  const Card* card_;
  CardAccount account_;
  std::optional<TorchRun> given_;
  std::optional<TorchMemory> matched_;  // owns what memory_ points to after a better match
  int alike_count_ = 0;
  bool shape_differs_ = false;
  Diagnosis result_;
};

void Examination::find_cause() {
  CauseVerdict verdict = verdict_of_kind(event_);
  if (verdict.cause == Cause::kCapacity) verdict = verdict_of_card(event_, account_, memory_);
  result_.cause = verdict.cause;
  result_.cause_confidence = verdict.confidence;
}

void Examination::find_by_shape(const Candidate& shaped, bool is_of_config) {
  result_.candidates = {shaped};
  shape_differs_ = memory_ != nullptr && !is_of_config;
}

// The traceback names the operator where no size goes with any tensor.
void Examination::add_frame_candidate(const LogAmount& request) {
  const LogMoment moment = moment_of(log_, event_);
  if (moment.hint == TensorHint::kNone) return;
  constexpr std::string_view kNames[] = {"",
                                         "vocabulary-wide tensor of cross_entropy",
                                         "logits",
                                         "output of softmax",
                                         "attention scores or probabilities",
                                         "MLP activation",
                                         "embedding",
                                         "AdamW state",
                                         "weight"};
  Candidate candidate;
  candidate.tensor = candidate.label = kNames[static_cast<std::size_t>(moment.hint)];
  candidate.bytes = request.high_bytes;
  candidate.phase = moment.only_phase();
  candidate.evidence = Evidence::kSizeAndFrame;
  candidate.confidence = 0.6;
  for (Candidate& other : result_.candidates) other.confidence *= 0.4;
  drop_negligible(result_.candidates);
  result_.candidates.insert(result_.candidates.begin(), std::move(candidate));
}

void Examination::find_by_size(const LogAmount& request) {
  if (memory_ != nullptr) {
    MatchResult match = match_tensors(log_, event_, request, *memory_);
    result_.candidates = std::move(match.candidates);
    alike_count_ = match.alike_count;
    if (match.memory) {
      matched_ = std::move(match.memory);
      memory_ = &*matched_;
      result_.matched_run = matched_->run;
    }
    if (!result_.candidates.empty()) return;
  }
  result_.candidates = guesses_of(log_, event_, request);
  // A config that has no such tensor is another run's, or the number is of something else.
  if (memory_ != nullptr) {
    for (Candidate& candidate : result_.candidates) candidate.confidence *= 0.5;
    drop_negligible(result_.candidates);
  }
  const auto& found = result_.candidates;
  const bool is_weak = found.empty() || found[0].confidence < 0.25;
  const bool has_frame = std::any_of(found.begin(), found.end(), [](const Candidate& candidate) {
    return candidate.evidence == Evidence::kSizeAndFrame;
  });
  if (is_weak && !has_frame) add_frame_candidate(request);
}

void Examination::find_candidates() {
  bool is_of_config = false;
  if (const auto shaped = shape_candidate(log_, event_, memory_, is_of_config)) {
    find_by_shape(*shaped, is_of_config);
  } else if (const auto request = sharpened_request(log_, event_)) {
    if (memory_of(event_.kind) == LogMemory::kCard) find_by_size(*request);
  }
  if (result_.candidates.size() > kMaxCandidates) result_.candidates.resize(kMaxCandidates);
}

// By the traceback; else by the match, if candidates of one phase outweigh all others.
void Examination::find_phase() {
  const LogMoment moment = moment_of(log_, event_);
  result_.phase = moment.only_phase();
  if (result_.phase || moment.is_sampling) return;
  // Without a config nothing tells an evaluation's forward pass from training's.
  if (memory_ == nullptr && moment.phases != 0 && moment.allows(TorchPhase::kForward)) {
    result_.phase = TorchPhase::kForward;
  }
  if (result_.candidates.empty() || !result_.candidates[0].phase) return;
  const std::optional<TorchPhase> first = result_.candidates[0].phase;
  double same = 0, all = 0;
  for (const Candidate& candidate : result_.candidates) {
    all += candidate.confidence;
    if (candidate.phase == first) same += candidate.confidence;
  }
  if (same >= 0.6 * all) result_.phase = first;
}

void Examination::fill_account() {
  result_.capacity_bytes = account_.capacity;
  result_.allocated_bytes = account_.allocated;
  result_.unallocated_bytes = account_.unallocated;
  result_.free_bytes = account_.free;
  result_.context_bytes = account_.context;
  result_.others_bytes = account_.others;
  result_.other_processes = account_.other_processes;
  result_.alone_on_card = account_.alone;
  if (memory_ != nullptr) result_.worst_peak_bytes = memory_->worst().allocated_bytes;
}

// In words that need no translation: keys of train.py and model.py, options of the doctor.
void Examination::add_matched_note() {
  if (!result_.matched_run) return;
  const TorchRun &run = *result_.matched_run, &given = *given_;
  const auto truth = [](bool value) { return value ? "True" : "False"; };
  std::vector<std::string> settings;
  if (run.compiled != given.compiled) {
    settings.push_back(fmt::format("compile = {}", truth(run.compiled)));
  }
  if (run.flash != given.flash) settings.push_back(fmt::format("flash = {}", truth(run.flash)));
  if (run.version != given.version) {
    const bool is_older = run.version == TorchVersion::kOlder;
    settings.push_back(fmt::format("--torch={}", is_older ? "older" : "current"));
  }
  result_.notes.push_back({NoteId::kMatchedRun, {fmt::format("{}", fmt::join(settings, ", "))}});
}

void Examination::add_notes() {
  auto& notes = result_.notes;
  add_log_notes(log_, event_, account_, notes);
  if (event_.kind == LogEventKind::kLlmC) {
    const bool known = memory_ != nullptr;
    notes.push_back({NoteId::kLlmCNoSizes,
                     {format_bytes(known ? states_bytes(*memory_) : kLlmCStatesBytes),
                      known ? format_bytes(memory_->worst().allocated_bytes) : ""}});
  }
  const std::int64_t in_pieces = account_.unallocated.value_or(0);
  if (result_.cause == Cause::kFragmentation && in_pieces < account_.own_bytes() / 10) {
    notes.push_back({NoteId::kLittleInPieces, {format_bytes(in_pieces)}});
  }
  if (shape_differs_) notes.push_back({NoteId::kShapeFromConfigDiffers, {}});
  const auto& candidates = result_.candidates;
  if (alike_count_ > 1 && !candidates.empty() && candidates[0].confidence < 0.6) {
    notes.push_back({NoteId::kAmbiguous, {std::to_string(alike_count_)}});
  }
  add_matched_note();
  if (memory_ != nullptr) {
    add_model_notes(&log_, *memory_, available_bytes(account_), result_);
  }
  add_warning_notes(&log_, memory_, card_, notes);
  if (memory_ != nullptr) add_myths(*memory_, result_);
}

Diagnosis Examination::run() {
  result_.event = event_;
  if (event_.request) result_.request_bytes = middle(*event_.request);
  find_candidates();
  // A message that has a shape and no amount has it all the same.
  const auto& candidates = result_.candidates;
  if (!event_.request && event_.shape && !candidates.empty()) {
    result_.request_bytes = candidates.front().bytes;
  }
  find_cause();
  find_phase();
  fill_account();
  add_notes();
  return std::move(result_);
}

// No log: what will happen.
Diagnosis predict(const TorchMemory& memory, const Card* card) {
  Diagnosis result;
  result.worst_peak_bytes = memory.worst().allocated_bytes;
  if (card == nullptr) return result;
  const CauseVerdict verdict = verdict_of_prediction(memory, *card);
  result.capacity_bytes = card->reported_mib * kMiB;
  result.cause = verdict.cause;
  result.cause_confidence = verdict.confidence;
  if (verdict.cause == Cause::kUnknown) {
    add_warning_notes(nullptr, &memory, card, result.notes);
    return result;
  }
  result.phase = memory.worst().phase;
  if (auto candidate = peak_candidate(memory, memory.worst())) {
    candidate->confidence = 0.9 * verdict.confidence;
    result.candidates.push_back(std::move(*candidate));
  }
  const std::int64_t available = *result.capacity_bytes - cuda_context(*card).low_bytes;
  add_model_notes(nullptr, memory, available, result);
  add_warning_notes(nullptr, &memory, card, result.notes);
  add_myths(memory, result);
  return result;
}

}  // namespace

std::string_view name_of(Cause cause) noexcept {
  constexpr std::string_view kNames[] = {"capacity",
                                         "states_exceed_card",
                                         "fragmentation",
                                         "co_tenant",
                                         "free_exceeds_request",
                                         "host_memory",
                                         "driver",
                                         "library",
                                         "not_memory",
                                         "unknown"};
  return kNames[static_cast<std::size_t>(cause)];
}

Diagnosis diagnose(const LogSummary* log, const TorchMemory* memory, const Card* card) {
  if (log == nullptr) return memory == nullptr ? Diagnosis{} : predict(*memory, card);
  const LogEvent* const event = decisive_event(*log);
  if (event == nullptr) return memory == nullptr ? Diagnosis{} : predict(*memory, card);
  Diagnosis result = Examination(*log, *event, memory, card).run();
  if (const auto note = heads_note_of(*log, *event)) {
    result.notes.insert(result.notes.begin(), *note);
  }
  return result;
}

}  // namespace snug
