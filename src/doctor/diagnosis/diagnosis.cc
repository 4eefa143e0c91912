#include "doctor/diagnosis/diagnosis.h"

#include <fmt/format.h>

#include <utility>

#include "base/bytes.h"
#include "doctor/diagnosis/candidate_search.h"
#include "doctor/diagnosis/cause.h"
#include "doctor/diagnosis/evidence.h"
#include "doctor/diagnosis/log_notes.h"
#include "doctor/diagnosis/match.h"
#include "doctor/diagnosis/model_notes.h"

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

CauseVerdict verdict_of(const FailureEvidence& evidence, const torch::TorchMemory* memory) {
  const CauseVerdict verdict = verdict_of_kind(evidence.event);
  return verdict.cause == Cause::kCapacity ? verdict_of_card(evidence, memory) : verdict;
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

void fill_account(const CardAccount& account, Diagnosis& result) {
  result.capacity_bytes = account.capacity;
  result.allocated_bytes = account.allocated;
  result.unallocated_bytes = account.unallocated;
  result.free_bytes = account.free;
  result.context_bytes = account.context;
  result.others_bytes = account.others;
  result.other_processes = account.other_processes;
  result.alone_on_card = account.alone;
}

// The settings in words that need no translation: keys of train.py and model.py, options of the
// doctor.
Note matched_note(const torch::TorchRun& run, const torch::TorchRun& given) {
  const auto truth = [](bool value) { return value ? "True" : "False"; };
  std::vector<std::string> settings;
  if (run.compiled != given.compiled) {
    settings.push_back(fmt::format("compile = {}", truth(run.compiled)));
  }
  if (run.flash != given.flash) settings.push_back(fmt::format("flash = {}", truth(run.flash)));
  if (run.version != given.version) {
    const bool is_older = run.version == torch::TorchVersion::kOlder;
    settings.push_back(fmt::format("--torch={}", is_older ? "older" : "current"));
  }
  return {NoteId::kMatchedRun, {fmt::format("{}", fmt::join(settings, ", "))}};
}

Note llm_c_note(const torch::TorchMemory* memory) {
  if (memory == nullptr) return {NoteId::kLlmCNoSizes, {format_bytes(kLlmCStatesBytes), ""}};
  return {NoteId::kLlmCNoSizes,
          {format_bytes(states_bytes(*memory)), format_bytes(memory->worst().allocated_bytes)}};
}

// On what the conclusions rest.
void add_conclusion_notes(const FailureEvidence& evidence, const FoundCandidates& found,
                          const torch::TorchMemory* given, Diagnosis& result) {
  auto& notes = result.notes;
  const CardAccount& account = evidence.account;
  const std::int64_t in_pieces = account.unallocated.value_or(0);
  if (result.cause == Cause::kFragmentation && in_pieces < account.own_bytes() / 10) {
    notes.push_back({NoteId::kLittleInPieces, {format_bytes(in_pieces)}});
  }
  if (found.shape_differs) notes.push_back({NoteId::kShapeFromConfigDiffers, {}});
  const auto& candidates = result.candidates;
  if (found.alike_count > 1 && !candidates.empty() && candidates[0].confidence < 0.6) {
    notes.push_back({NoteId::kAmbiguous, {std::to_string(found.alike_count)}});
  }
  if (found.matched) notes.push_back(matched_note(found.matched->run, given->run));
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
    add_model_notes(&evidence.log, *memory, available_bytes(evidence.account), result);
  }
  add_warning_notes(&evidence.log, memory, card, notes);
  if (memory != nullptr) add_myths(*memory, result);
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
                      const fit::Card* card) {
  const log::LogEvent* const event = decisive_event(log);
  if (event == nullptr) return {given == nullptr ? Diagnosis{} : predict(*given, card), {}};
  const FailureEvidence evidence = evidence_of(log, *event, card);
  FoundCandidates found = find_candidates(evidence, given);
  const torch::TorchMemory* const memory = found.matched ? &*found.matched : given;
  Diagnosis result;
  result.event = *event;
  result.candidates = std::move(found.candidates);
  result.request_bytes = request_bytes_of(*event, result.candidates);
  const CauseVerdict verdict = verdict_of(evidence, memory);
  result.cause = verdict.cause;
  result.cause_confidence = verdict.confidence;
  result.phase = phase_of(evidence.moment, result.candidates, memory != nullptr);
  fill_account(evidence.account, result);
  if (memory != nullptr) result.worst_peak_bytes = memory->worst().allocated_bytes;
  add_notes(evidence, found, given, card, result);
  return {std::move(result), std::move(found.matched)};
}

Diagnosis predict(const torch::TorchMemory& memory, const fit::Card* card) {
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
  const std::int64_t available = *result.capacity_bytes - fit::cuda_context(*card).low_bytes;
  add_model_notes(nullptr, memory, available, result);
  add_warning_notes(nullptr, &memory, card, result.notes);
  add_myths(memory, result);
  return result;
}

}  // namespace snug::doctor::diagnosis
