// A case for the report's tests: 124M at batch 64 on 12 GB, which fails at its first evaluation.
#pragma once

#include <string>
#include <vector>

#include "base/bytes.h"
#include "report/doctor/report.h"

namespace snug::report {

constexpr Language kAllLanguages[] = {Language::kEnglish, Language::kChinese, Language::kJapanese,
                                      Language::kGerman};

inline std::int64_t gib(double amount) {
  return static_cast<std::int64_t>(amount * static_cast<double>(kGiB));
}

inline doctor::torch::TorchRun run_for_test() {
  doctor::torch::TorchRun run;
  run.batch_size = run.eval_batch_size = 64;
  run.accumulation_steps = 8;
  return run;
}

inline doctor::diagnosis::Candidate logits_for_test() {
  doctor::diagnosis::Candidate c;
  c.tensor = c.label = "logits";
  c.op = "aten::mm";
  c.shape = {65536, 50304};
  c.dtype = "bfloat16";
  c.bytes = std::int64_t{65536} * 50304 * 2;
  c.phase = doctor::torch::TorchPhase::kEvaluateFirst;
  c.confidence = 0.99;
  c.evidence = doctor::diagnosis::Evidence::kShapeInLog;
  return c;
}

inline doctor::diagnosis::Diagnosis diagnosis_for_test() {
  doctor::diagnosis::Diagnosis d;
  d.cause = doctor::diagnosis::Cause::kCapacity;
  d.cause_confidence = 0.98;
  d.request_bytes = gib(6.14);
  d.candidates = {logits_for_test(), logits_for_test()};
  d.candidates[1].tensor = d.candidates[1].label = "gradient of logits";
  d.candidates[1].phase = doctor::torch::TorchPhase::kBackward;
  d.candidates[1].confidence = 0.01;
  d.candidates[1].evidence = doctor::diagnosis::Evidence::kSizeOnly;
  d.phase = doctor::torch::TorchPhase::kEvaluateFirst;
  d.capacity_bytes = gib(11.69);
  d.allocated_bytes = gib(6.78);
  d.unallocated_bytes = 31 * kMiB;
  d.free_bytes = gib(2.68);
  d.context_bytes = 225 * kMiB;
  d.alone_on_card = true;
  d.worst_peak_bytes = gib(61.57);
  d.notes = {{doctor::diagnosis::NoteId::kFirstStepNeedsMore, {"61.57 GiB", "11.69 GiB"}},
             {doctor::diagnosis::NoteId::kLogitsKeptAlive, {"6.14 GiB"}},
             {doctor::diagnosis::NoteId::kMythEvaluationKeepsGraph, {}},
             {doctor::diagnosis::NoteId::kMythHalvingHalves, {"61.57 GiB", "31.77 GiB"}},
             {doctor::diagnosis::NoteId::kMythCompileOffSaves, {"61.57 GiB", "42.90 GiB"}}};
  return d;
}

// Every note, with as many arguments as any text has.
inline doctor::diagnosis::Diagnosis diagnosis_with_all_notes() {
  doctor::diagnosis::Diagnosis d = diagnosis_for_test();
  d.notes.clear();
  for (int i = 0; i < doctor::diagnosis::kNoteCount; ++i) {
    d.notes.push_back({static_cast<doctor::diagnosis::NoteId>(i),
                       {"12.34 GiB", "5.67 GiB", "890.12 MiB", "516"}});
  }
  return d;
}

inline fit::Effect effect_for_test(fit::FixKind kind) {
  switch (kind) {
    case fit::FixKind::kCompileOn:
      return fit::Effect::kReordered;
    case fit::FixKind::kDtype16:
    case fit::FixKind::kEightBitAdam:
      return fit::Effect::kRounding;
    case fit::FixKind::kFewerSequences:
      return fit::Effect::kFewerSequences;
    case fit::FixKind::kShorterContext:
      return fit::Effect::kShorterContext;
    case fit::FixKind::kFewerLayers:
    case fit::FixKind::kNarrower:
    case fit::FixKind::kSmallerPretrained:
      return fit::Effect::kSmallerModel;
    default:
      return fit::Effect::kSame;
  }
}

inline fit::Fix fix_for_test(fit::FixKind kind, std::int64_t batch, double low, double high) {
  fit::Fix fix;
  fix.kind = kind;
  fix.config.batch_size = batch;
  fix.config.gradient_accumulation_steps = 512 / batch;
  static_cast<config::GptSizes&>(fix.config) = run_for_test();
  fix.config.eval_batch_size = kind == fit::FixKind::kEvalBatch ? batch / 4 : batch;
  fix.config.checkpoint_blocks = kind == fit::FixKind::kCheckpoint ? fix.config.n_layer : 0;
  fix.effective_batch = 512;
  fix.need = {gib(low), gib(high)};
  fix.saved_bytes = gib(62 - (low + high) / 2);
  fix.time_ratio = 1.02;
  fix.effect = effect_for_test(kind);
  fix.fits = high < 11.6;
  fix.parameters = fix.reported_parameters = 123587328;
  if (kind == fit::FixKind::kSplit) {
    fix.changes = {{"batch_size", "64", std::to_string(batch)},
                   {"gradient_accumulation_steps", "8", std::to_string(512 / batch)}};
  }
  return fix;
}

// One of every kind.
inline fit::Fixes fixes_for_test() {
  fit::Fixes fixes;
  fixes.ranked = {fix_for_test(fit::FixKind::kSplit, 4, 6.12, 7.03),
                  fix_for_test(fit::FixKind::kSplit, 2, 4.31, 5.02)};
  for (int k = 1; k <= static_cast<int>(fit::FixKind::kOnProcessor); ++k) {
    fixes.ranked.push_back(fix_for_test(static_cast<fit::FixKind>(k), 64, 32.15, 61.93));
    fit::Fix& fix = fixes.ranked.back();
    fix.needs_edit = fix.kind == fit::FixKind::kEvalBatch ||
                     fix.kind == fit::FixKind::kCheckpoint ||
                     fix.kind == fit::FixKind::kEightBitAdam;
    fix.config.dtype = "bfloat16";
    if (fix.kind == fit::FixKind::kOnProcessor) fix.need = {};
    if (fix.kind == fit::FixKind::kOnProcessor) fix.time_ratio = 50;
  }
  fixes.chosen = fixes.ranked[0];
  fixes.safest = fixes.ranked[1];
  return fixes;
}

// All of it; `memory` and `fixes` must outlive the report.
inline DoctorReport report_for_test(Language language, const doctor::torch::TorchMemory& memory,
                                    const fit::Fixes& fixes) {
  DoctorReport report;
  report.diagnosis = diagnosis_for_test();
  report.memory = &memory;
  report.fixes = &fixes;
  report.card = fit::find_card("rtx3060");
  report.card_bytes = gib(11.6);
  report.need = doctor::fixes::torch_need(memory, 0);
  report.snug = SnugNeed{gib(9.87), true, "--checkpoint_blocks=9", "GeForce RTX 3060"};
  report.arguments = {"config/train_gpt2.py", "--log=oom.txt"};
  report.language = language;
  return report;
}

}  // namespace snug::report
