#include "doctor/diagnosis/diagnosis.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/bytes.h"
#include "doctor/diagnosis/advice.h"
#include "doctor/diagnosis/candidate_search.h"
#include "doctor/diagnosis/cause.h"
#include "doctor/diagnosis/evidence.h"
#include "doctor/diagnosis/log_alone.h"
#include "doctor/diagnosis/log_notes.h"
#include "doctor/diagnosis/match.h"
#include "doctor/diagnosis/model_notes.h"
#include "doctor/diagnosis/run_notes.h"

namespace snug::doctor::diagnosis {
namespace {

// GPT-2 of 124M, llm.c's default, at 16 bytes per parameter.
constexpr std::int64_t kLlmCStatesBytes = std::int64_t{124439808} * 16;

// A message that has a shape and no amount has it all the same.
std::int64_t request_bytes_of(const log::LogEvent& event,
                              const std::vector<Candidate>& candidates) {
  if (event.request) return log::middle(*event.request);
  return event.shape && !candidates.empty() ? candidates.front().bytes : 0;
}

// The tensor at which the modelled run fails as the message says is the one.
void put_first(const CardTrial& trial, bool is_allocated_told, std::vector<Candidate>& candidates) {
  if (!trial.reproduces || !trial.failed) return;
  // Nothing is surer than a printed shape.
  if (!candidates.empty() && candidates[0].evidence == Evidence::kShapeInLog) return;
  double confidence = trial.is_assumed ? 0.85 : 0.97;
  const auto is_same = [&](const Candidate& c) {
    return c.tensor == trial.failed->tensor ||
           (c.label == trial.failed->label && c.phase == trial.failed->phase);
  };
  if (!candidates.empty() && is_same(candidates[0])) {
    confidence = std::max(confidence, candidates[0].confidence);
  }
  Candidate first = *trial.failed;
  first.evidence = is_allocated_told ? Evidence::kSizeAndAllocated : Evidence::kSizeAndFrame;
  first.confidence = confidence;
  std::erase_if(candidates, is_same);
  for (Candidate& other : candidates) other.confidence *= 1 - confidence;
  candidates.insert(candidates.begin(), std::move(first));
}

// The traceback decides; else the match, if candidates of one phase outweigh all others.
std::optional<torch::TorchPhase> phase_of(const LogMoment& moment,
                                          const std::vector<Candidate>& candidates,
                                          bool has_config) {
  std::optional<torch::TorchPhase> phase = moment.only_phase();
  if (phase || moment.is_sampling) return phase;
  // Without a config nothing tells an evaluation's forward pass from training's.
  if (!has_config && moment.phases != 0 && moment.allows(torch::TorchPhase::kForward)) {
    phase = torch::TorchPhase::kForward;
  }
  if (candidates.empty() || !candidates[0].phase) return phase;
  double same = 0, all = 0;
  for (const Candidate& candidate : candidates) {
    all += candidate.confidence;
    if (candidate.phase == candidates[0].phase) same += candidate.confidence;
  }
  return same >= 0.6 * all ? candidates[0].phase : phase;
}

// By the paths of the traceback: "C:/...", or "/..." as in WSL2, where the driver is Windows' but
// PyTorch is Linux's. Without any, what the driver cannot tell decides.
bool runs_on_windows(const FailureEvidence& evidence) {
  for (const log::LogFrame& frame : evidence.event.frames) {
    const std::string& file = frame.file;
    if (!file.empty() && file[0] == '/') return false;
    const auto drive = static_cast<unsigned char>(file.empty() ? 0 : file[0]);
    if (file.size() > 2 && std::isalpha(drive) != 0 && file[1] == ':' && file[2] == '/') {
      return true;
    }
  }
  return evidence.account.is_windows && !evidence.log.facts.is_wsl;
}

AllocatorAdvice advice_of(const FailureEvidence& evidence) {
  const log::LogEvent& event = evidence.event;
  const torch::TorchAllocatorSettings settings = allocator_settings_of(evidence.log, event);
  const bool is_other =
      event.wording == log::LogWording::kMallocAsync || event.wording == log::LogWording::kMps;
  // Before 1.10 there was no setting.
  if (is_other || event.wording == log::LogWording::kCached || settings.expandable_segments) {
    return AllocatorAdvice::kNone;
  }
  const bool is_windows = runs_on_windows(evidence);
  const bool is_old = event.wording == log::LogWording::kReserved ||
                      event.wording == log::LogWording::kParenthesised;
  if (!is_windows && !is_old) return AllocatorAdvice::kExpandable;
  if (settings.max_split_bytes > 0) return AllocatorAdvice::kNone;
  return is_windows ? AllocatorAdvice::kMaxSplitWindows : AllocatorAdvice::kMaxSplit;
}

void fill_account(const CardAccount& account, Diagnosis& result) {
  result.capacity_bytes = account.capacity;
  result.allocated_bytes = account.allocated;
  result.unallocated_bytes = account.unallocated;
  result.free_bytes = account.free;
  result.context_bytes = account.context;
  result.others_bytes = account.others;
  result.other_processes = account.other_processes;
  result.others_are_estimated = account.is_estimate;
  result.alone_on_card = account.alone;
}

// What the message is cut off before, the modelled run tells.
void fill_others_of_trial(Diagnosis& result) {
  if (result.cause != Cause::kCoTenant || result.others_bytes || !result.trial) return;
  result.others_bytes = result.trial->alone_bytes - result.trial->given_bytes;
  result.others_are_estimated = true;
}

Note llm_c_note(const torch::TorchMemory* memory) {
  if (memory == nullptr) return {NoteId::kLlmCNoSizes, {format_bytes(kLlmCStatesBytes), ""}};
  return {NoteId::kLlmCNoSizes,
          {format_bytes(states_bytes(*memory)), format_bytes(memory->worst().allocated_bytes)}};
}

// What trying the run on the card has shown.
void add_trial_notes(const Diagnosis& diagnosis, const torch::TorchMemory& memory,
                     std::vector<Note>& notes) {
  if (!diagnosis.trial) return;
  const CardTrial& trial = *diagnosis.trial;
  const std::int64_t worst = memory.worst().allocated_bytes;
  if (!trial.fails && diagnosis.allocated_bytes.value_or(0) > worst + worst / 50) {
    notes.push_back({NoteId::kConfigDoesNotExplain,
                     {format_bytes(*diagnosis.allocated_bytes), format_bytes(worst)}});
  }
  if (diagnosis.cause == Cause::kCoTenant && trial.fails && trial.survives_alone) {
    notes.push_back({NoteId::kSurvivesAlone,
                     {format_bytes(trial.needed_bytes), format_bytes(trial.alone_bytes)}});
  }
  if (diagnosis.cause == Cause::kFragmentation && trial.survives_expandable) {
    const bool has_setting = diagnosis.allocator_advice == AllocatorAdvice::kExpandable;
    notes.push_back({has_setting ? NoteId::kSurvivesExpandable : NoteId::kSurvivesInOnePiece,
                     {format_bytes(trial.needed_expandable_bytes), format_bytes(trial.given_bytes),
                      format_bytes(trial.needed_bytes)}});
  }
}

// Without a config: the runs that explain the message say what it was and why. False: none does, or
// the program is another.
bool explain_log_alone(const FailureEvidence& evidence, FoundCandidates& found, Diagnosis& result,
                       CauseVerdict& verdict) {
  constexpr double kGuess = 0.1;  // least of what the number alone can be
  const bool has_shape =
      !found.candidates.empty() && found.candidates[0].evidence == Evidence::kShapeInLog;
  if (has_shape || !shows_nanogpt(evidence.event)) return false;
  std::vector<ExplainingRun> runs = explaining_runs(evidence);
  if (runs.empty()) return false;
  LogAloneVerdict judged = judge_log_alone(evidence, runs);
  verdict = judged.verdict;
  std::vector<Candidate> candidates = candidates_of(runs, evidence);
  double none = 1;
  for (const ExplainingRun& run : runs) none -= run.weight;
  for (Candidate& guess : found.candidates) {
    guess.confidence *= std::max(kGuess, none);
    if (!guess.shape.empty()) candidates.push_back(std::move(guess));
  }
  if (none > 0.5) {
    std::stable_sort(
        candidates.begin(), candidates.end(),
        [](const Candidate& a, const Candidate& b) { return a.confidence > b.confidence; });
  }
  if (candidates.size() > kMaxCandidates) candidates.resize(kMaxCandidates);
  found.candidates = std::move(candidates);
  found.alike_count = 0;  // of a run that is not assumed nothing is said
  if (!judged.is_assumable) return true;
  found.alike_count = runs[judged.run].alike_count;
  result.trial = std::move(judged.trial);
  found.matched = std::move(runs[judged.run].memory);
  return true;
}

// On what the conclusions rest.
void add_conclusion_notes(const FailureEvidence& evidence, const FoundCandidates& found,
                          const torch::TorchMemory* given, Diagnosis& result) {
  auto& notes = result.notes;
  const CardAccount& account = evidence.account;
  const std::int64_t in_pieces = account.unallocated.value_or(0);
  const bool is_told = account.unallocated.has_value();
  if (result.cause == Cause::kFragmentation && is_told && in_pieces < account.own_bytes() / 10) {
    notes.push_back({NoteId::kLittleInPieces, {format_bytes(in_pieces)}});
  }
  if (found.shape_differs) notes.push_back({NoteId::kShapeFromConfigDiffers, {}});
  const auto& candidates = result.candidates;
  if (found.alike_count > 1 && !candidates.empty() && candidates[0].confidence < 0.6) {
    notes.push_back({NoteId::kAmbiguous, {std::to_string(found.alike_count)}});
  }
  if (!found.matched) return;
  notes.push_back(given == nullptr ? assumed_note(found.matched->run)
                                   : matched_note(found.matched->run, given->run));
}

void add_notes(const FailureEvidence& evidence, const FoundCandidates& found,
               const torch::TorchMemory* given, const fit::Card* card, Diagnosis& result) {
  const torch::TorchMemory* const memory = found.matched ? &*found.matched : given;
  auto& notes = result.notes;
  if (auto note = heads_note_of(evidence.log, evidence.event)) notes.push_back(std::move(*note));
  add_log_notes(evidence, notes);
  if (evidence.event.kind == log::LogEventKind::kLlmC) notes.push_back(llm_c_note(memory));
  add_conclusion_notes(evidence, found, given, result);
  if (memory != nullptr) {
    add_trial_notes(result, *memory, notes);
    add_model_notes(&evidence.log, *memory, available_bytes(evidence.account), result);
  }
  add_warning_notes(&evidence.log, memory, card, notes);
  if (memory == nullptr) {
    add_advice(evidence, result);
  } else if (is_of_run(result) || result.cause == Cause::kCoTenant) {
    notes.push_back({NoteId::kAdviceMonitor, {}});
    add_myths(*memory, result);
  }
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

LogDiagnosis diagnose(const log::LogSummary& log, const torch::TorchMemory* given,
                      const fit::Card* card, RunSearch search) {
  const log::LogEvent* const event = decisive_event(log);
  if (event == nullptr) return {given == nullptr ? Diagnosis{} : predict(*given, card), {}};
  const FailureEvidence evidence = evidence_of(log, *event, card);
  FoundCandidates found = find_candidates(evidence, given);
  Diagnosis result;
  result.event = *event;
  CauseVerdict verdict = verdict_of_kind(*event);
  const bool is_of_card = verdict.cause == Cause::kCapacity;
  const bool has_verdict = is_of_card && given == nullptr && search == RunSearch::kCommonSizes &&
                           explain_log_alone(evidence, found, result, verdict);
  const torch::TorchMemory* const memory = found.matched ? &*found.matched : given;
  result.candidates = std::move(found.candidates);
  if (is_of_card && !has_verdict) {
    if (memory != nullptr) result.trial = try_on_card(evidence, *memory);
    if (result.trial) {
      put_first(*result.trial, event->allocated.has_value(), result.candidates);
    }
    verdict = verdict_of_card(evidence, memory, result.trial ? &*result.trial : nullptr);
  }
  result.request_bytes = request_bytes_of(*event, result.candidates);
  result.cause = verdict.cause;
  result.cause_confidence = verdict.confidence;
  result.phase = phase_of(evidence.moment, result.candidates, memory != nullptr || has_verdict);
  fill_account(evidence.account, result);
  fill_others_of_trial(result);
  result.allocator_advice = advice_of(evidence);
  if (memory != nullptr) result.worst_peak_bytes = memory->worst().allocated_bytes;
  add_notes(evidence, found, given, card, result);
  return {std::move(result), std::move(found.matched)};
}

Diagnosis predict(const torch::TorchMemory& memory, const fit::Card* card) {
  Diagnosis result;
  result.worst_peak_bytes = memory.worst().allocated_bytes;
  std::int64_t available = 0;
  if (card != nullptr) {
    const CauseVerdict verdict = verdict_of_prediction(memory, *card);
    result.capacity_bytes = card->reported_mib * kMiB;
    result.cause = verdict.cause;
    result.cause_confidence = verdict.confidence;
    available = fit::process_bytes(*card) - fit::cuda_context(*card).low_bytes;
  }
  if (result.cause != Cause::kUnknown) {
    result.phase = memory.worst().phase;
    if (auto candidate = peak_candidate(memory, memory.worst())) {
      candidate->confidence = 0.9 * result.cause_confidence;
      result.candidates.push_back(std::move(*candidate));
    }
  }
  add_model_notes(nullptr, memory, available, result);
  add_warning_notes(nullptr, &memory, card, result.notes);
  result.notes.push_back({NoteId::kAdviceMonitor, {}});
  add_myths(memory, result);
  return result;
}

}  // namespace snug::doctor::diagnosis
