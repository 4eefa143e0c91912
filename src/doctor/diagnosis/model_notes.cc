#include "doctor/diagnosis/model_notes.h"

#include <algorithm>

#include "base/bytes.h"
#include "doctor/diagnosis/cause.h"
#include "doctor/diagnosis/run_notes.h"

namespace snug::doctor::diagnosis {
namespace {

constexpr std::size_t kMaxMyths = 5;

bool is_evaluation(std::optional<torch::TorchPhase> phase) {
  return phase == torch::TorchPhase::kEvaluateFirst || phase == torch::TorchPhase::kEvaluateLater;
}

// train.py's global name holds the last micro-step's logits whenever another pass runs.
void add_logits_note(const torch::TorchMemory& memory, Diagnosis& diagnosis) {
  const torch::TorchRun& run = memory.run;
  const std::int64_t bytes =
      run.batch_size * run.block_size * run.vocab_size * torch::compute_bytes(run);
  const bool is_late = diagnosis.phase && *diagnosis.phase != torch::TorchPhase::kStart &&
                       *diagnosis.phase != torch::TorchPhase::kEvaluateFirst;
  // Worth a line from two percent of what the run needs.
  if (is_late && bytes >= memory.worst().allocated_bytes / 50) {
    diagnosis.notes.push_back({NoteId::kLogitsKeptAlive, {format_bytes(bytes)}});
  }
}

void add_vocabulary_note(const log::LogSummary* log, const torch::TorchMemory& memory,
                         Diagnosis& diagnosis) {
  if (memory.run.vocab_size != config::kPaddedGpt2Vocabulary) return;
  if (log != nullptr && log->facts.vocab_size) return;
  const auto& candidates = diagnosis.candidates;
  const bool depends =
      !candidates.empty() && std::find(candidates[0].shape.begin(), candidates[0].shape.end(),
                                       config::kPaddedGpt2Vocabulary) != candidates[0].shape.end();
  if (depends) {
    diagnosis.notes.push_back(
        {NoteId::kVocabularyAssumed, {std::to_string(config::kPaddedGpt2Vocabulary)}});
  }
}

std::int64_t worst_of(torch::TorchRun run) {
  return torch::torch_memory(run).worst().allocated_bytes;
}

Note before_and_after(NoteId id, std::int64_t before, std::int64_t after) {
  return {id, {format_bytes(before), format_bytes(after)}};
}

}  // namespace

bool is_of_run(const Diagnosis& diagnosis) {
  if (!diagnosis.event) return true;
  return diagnosis.cause == Cause::kCapacity || diagnosis.cause == Cause::kStatesExceedCard ||
         diagnosis.cause == Cause::kFragmentation;
}

void add_model_notes(const log::LogSummary* log, const torch::TorchMemory& memory,
                     std::int64_t available, Diagnosis& diagnosis) {
  auto& notes = diagnosis.notes;
  if (diagnosis.cause == Cause::kStatesExceedCard) {
    notes.push_back(
        {NoteId::kStatesAlone, {format_bytes(standing_bytes(memory)), format_bytes(available)}});
  }
  const std::int64_t step =
      std::max(memory.train.allocated_bytes, memory.train_first.allocated_bytes);
  const bool is_early = diagnosis.phase == torch::TorchPhase::kStart ||
                        diagnosis.phase == torch::TorchPhase::kEvaluateFirst ||
                        diagnosis.cause == Cause::kFragmentation;
  if (is_early && available > 0 && step > available &&
      diagnosis.cause != Cause::kStatesExceedCard) {
    notes.push_back({NoteId::kFirstStepNeedsMore, {format_bytes(step), format_bytes(available)}});
  }
  if (!is_of_run(diagnosis)) return;
  notes.push_back(effective_batch_note(memory.run));
  add_logits_note(memory, diagnosis);
  const bool trains = diagnosis.phase == torch::TorchPhase::kForward ||
                      diagnosis.phase == torch::TorchPhase::kBackward;
  if (trains && memory.run.accumulation_steps > 1) {
    notes.push_back({NoteId::kAccumulationAddsGradients, {}});
  }
  if (memory.run.resumed) {
    notes.push_back({NoteId::kResumeKeepsACopy, {format_bytes(memory.params_bytes)}});
  }
  add_vocabulary_note(log, memory, diagnosis);
}

void add_myths(const torch::TorchMemory& memory, Diagnosis& diagnosis) {
  if (!is_of_run(diagnosis)) return;
  const torch::TorchRun& run = memory.run;
  const std::int64_t now = memory.worst().allocated_bytes;
  std::vector<Note> myths;
  if (is_evaluation(diagnosis.phase)) {
    myths.push_back({NoteId::kMythEvaluationKeepsGraph, {}});
    myths.push_back({NoteId::kMythKvCache, {}});
    myths.push_back({NoteId::kMythEvalIters, {}});
  }
  if (run.accumulation_steps > 1) myths.push_back({NoteId::kMythAccumulationSaves, {}});
  if (run.batch_size > 1 && (diagnosis.cause == Cause::kCapacity || !diagnosis.event)) {
    torch::TorchRun half = run;
    half.batch_size = run.batch_size / 2;
    half.eval_batch_size = std::max<std::int64_t>(1, run.eval_batch_size / 2);
    myths.push_back(before_and_after(NoteId::kMythHalvingHalves, now, worst_of(half)));
  }
  if (run.checkpoint_blocks > 0) {
    torch::TorchRun plain = run;
    plain.checkpoint_blocks = 0;
    myths.push_back(before_and_after(NoteId::kMythCheckpointHalves, worst_of(plain), now));
  }
  if (run.compiled) {
    torch::TorchRun eager = run;
    eager.compiled = false;
    const std::int64_t without = worst_of(eager);
    if (without > now) {  // not so for the largest models with one sequence
      myths.push_back(before_and_after(NoteId::kMythCompileOffSaves, without, now));
    }
  }
  if (!is_evaluation(diagnosis.phase)) {
    myths.push_back({NoteId::kMythKvCache, {}});
    myths.push_back({NoteId::kMythEvalIters, {}});
  }
  if (myths.size() > kMaxMyths) myths.resize(kMaxMyths);
  std::move(myths.begin(), myths.end(), std::back_inserter(diagnosis.notes));
}

}  // namespace snug::doctor::diagnosis
