#include "doctor/case.h"

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "config/fields.h"
#include "doctor/diagnosis/log_notes.h"
#include "doctor/diagnosis/run.h"
#include "doctor/diagnosis/settings.h"
#include "doctor/log/reader.h"

namespace snug::doctor {
namespace {

// Nothing in it that is about memory, an error or a run.
bool says_nothing(const log::LogSummary& log) {
  const log::LogFacts& facts = log.facts;
  return log.events.empty() && facts.settings.empty() && !facts.tokens_per_iteration &&
         !facts.last_iteration && facts.evaluation_count == 0 && facts.cards.empty() &&
         facts.shapes.empty();
}

// A file, or a key that PyTorch's memory depends on. --color and --card say nothing of the run.
bool describes_run(const std::vector<std::string>& arguments, const config::LoadedConfig& config) {
  return std::any_of(arguments.begin(), arguments.end(),
                     [](const std::string& word) { return !word.starts_with('-'); }) ||
         std::any_of(config.origins.begin(), config.origins.end(),
                     [](const auto& set) { return diagnosis::decides_memory(set.first); });
}

// A config that nanoGPT itself cannot build is the answer. Values outside of all ranges are left to
// resolve().
std::optional<diagnosis::Diagnosis> cannot_be_built(const config::Config& config) {
  const auto is_in_range = [&](std::int64_t config::Config::*key) {
    return config::field_of(key).limit.allows(static_cast<double>(config.*key));
  };
  if (!is_in_range(&config::Config::n_embd) || !is_in_range(&config::Config::n_head))
    return std::nullopt;
  const std::optional<diagnosis::Note> note = diagnosis::heads_note(config.n_embd, config.n_head);
  if (!note) return std::nullopt;
  diagnosis::Diagnosis diagnosis;
  diagnosis.cause = diagnosis::Cause::kNotMemory;
  diagnosis.cause_confidence = 1;
  diagnosis.notes = {*note};
  return diagnosis;
}

// nanoGPT takes float16 by itself where the card has no bfloat16.
void use_dtype_of(const fit::Card& card, config::LoadedConfig& config) {
  if (card.bf16_tflops > 0 || config.is_set("dtype")) return;
  config.values.dtype = "float16";
}

void limit_layers(std::int64_t max_layers, config::Config& config) {
  if (max_layers == 0) return;
  config.n_layer = std::min(config.n_layer, max_layers);
  config.checkpoint_blocks = std::min(config.checkpoint_blocks, config.n_layer);
}

const fit::Card* card_of(const DoctorCase& c) {
  if (!c.config.values.card.empty()) return &fit::card_named(c.config.values.card);
  if (!c.log) return nullptr;
  for (const log::LogCard& card : c.log->facts.cards) {
    if (const fit::Card* known = fit::find_card(card.name)) return known;
  }
  return nullptr;
}

std::int64_t card_bytes_of(const DoctorCase& c) {
  const std::int64_t capacity = c.diagnosis ? c.diagnosis->capacity_bytes.value_or(0) : 0;
  const bool is_tried = c.diagnosis && c.diagnosis->trial && c.memory;
  // Of a whole card without any figure the trial knows no more than the card's name.
  if (is_tried && (!c.diagnosis->trial->is_of_whole_card || c.diagnosis->free_bytes)) {
    const std::int64_t given = c.diagnosis->trial->given_bytes + c.memory->context_range.high_bytes;
    return capacity > 0 ? std::min(given, capacity) : given;
  }
  if (capacity > 0) {
    // Where the message does not tell what others hold, the limit is the one without a log.
    const std::int64_t display = c.card == nullptr ? 0 : fit::display_bytes(*c.card);
    return capacity - c.diagnosis->others_bytes.value_or(display);
  }
  return c.card == nullptr ? 0 : fit::process_bytes(*c.card);
}

// The config follows: fixes and --write start from the run that failed.
void take_run(DoctorCase& c, torch::TorchMemory memory) {
  const torch::TorchRun& run = memory.run;
  config::Config& values = c.config.values;
  values.compile = run.compiled;
  if (values.batch_size != run.batch_size) {
    values.batch_size = run.batch_size;
    values.eval_batch_size = run.eval_batch_size;
  }
  if (values.block_size != run.block_size) {
    values.block_size = run.block_size;
    values.eval_block_size = run.eval_block_size;
  }
  values.n_layer = run.n_layer;
  values.n_head = run.n_head;
  values.n_embd = run.n_embd;
  if (c.vocab_size != run.vocab_size) values.vocab_size = c.vocab_size = run.vocab_size;
  c.memory = std::move(memory);
}

// A run that explains the message stands for the config that nobody gave.
void assume_run(DoctorCase& c, torch::TorchMemory memory) {
  config::Config& values = c.config.values;
  values.device = "cuda";
  values.dropout = memory.run.dropout;
  values.bias = memory.run.bias;
  values.dtype = std::string(name_of(memory.run.compute));
  if (memory.run.resumed) values.init_from = "resume";
  take_run(c, std::move(memory));
  config::Origin origin;  // as if the log had said so: --write then writes them
  origin.kind = config::Origin::Kind::kFile;
  origin.file = "log";
  for (const char* key : {"n_layer", "n_head", "n_embd", "block_size", "batch_size", "dtype",
                          "dropout", "bias", "init_from"}) {
    c.config.origins[key] = origin;
  }
  config::resolve(c.config);
}

void model_run(DoctorCase& c, const CaseInputs& inputs) {
  if (c.config.values.device == "auto") c.config.values.device = "cuda";  // nanoGPT's default
  config::resolve(c.config);
  limit_layers(inputs.max_layers, c.config.values);
  if (c.card != nullptr) use_dtype_of(*c.card, c.config);
  c.vocab_size = inputs.vocabulary_of(c.config.values);
  torch::TorchRun run =
      diagnosis::torch_run_of(c.config.values, c.vocab_size, c.log ? &*c.log : nullptr);
  if (c.card != nullptr && !run.ddp) {  // as the plan of Snug has it: one limit for one card
    const fit::ContextRange context = fit::cuda_context(*c.card);
    run.context = {context.low_bytes, context.high_bytes};
  }
  if (inputs.older_pytorch) run.version = torch::TorchVersion::kOlder;
  take_run(c, torch::torch_memory(run));
}

void diagnose_failure(DoctorCase& c, const std::vector<diagnosis::Note>& of_settings,
                      diagnosis::RunSearch search) {
  diagnosis::LogDiagnosis found =
      diagnosis::diagnose(*c.log, c.memory ? &*c.memory : nullptr, c.card, search);
  c.diagnosis = std::move(found.diagnosis);
  if (!c.memory && found.matched) assume_run(c, std::move(*std::exchange(found.matched, {})));
  if (!c.memory) return;
  auto& notes = c.diagnosis->notes;
  notes.insert(notes.begin(), of_settings.begin(), of_settings.end());
  if (found.matched) take_run(c, std::move(*found.matched));
  if (!c.diagnosis->context_bytes) return;
  const std::int64_t context = std::max<std::int64_t>(1, *c.diagnosis->context_bytes);
  c.memory->run.context = c.memory->context_range = {context, context};
}

// Nothing has failed, or not yet: what the model says, with what the log shows of the run.
diagnosis::Diagnosis prediction_of(const DoctorCase& c,
                                   const std::vector<diagnosis::Note>& of_settings) {
  diagnosis::Diagnosis prediction = diagnosis::predict(*c.memory, c.card);
  if (!c.log) return prediction;
  std::vector<diagnosis::Note> notes{{says_nothing(*c.log) ? diagnosis::NoteId::kLogUnreadable
                                                           : diagnosis::NoteId::kNoFailureInLog,
                                      {}}};
  notes.insert(notes.end(), of_settings.begin(), of_settings.end());
  prediction.notes.insert(prediction.notes.begin(), notes.begin(), notes.end());
  return prediction;
}

void add_fixes(DoctorCase& c) {
  const torch::TorchRun& run = c.memory->run;
  c.fixes = fixes::torch_fixes(c.config, run, c.card_bytes, c.card,
                               c.diagnosis ? &*c.diagnosis : nullptr);
  if (!c.fixes->chosen) return;
  fit::Fix& chosen = *c.fixes->chosen;
  c.proof = fixes::prove(c.config, run, c.card_bytes, c.card, chosen);
  // One figure for one config.
  chosen.need.high_bytes =
      std::max(chosen.need.high_bytes, c.proof->needed_bytes + c.memory->context_range.high_bytes);
}

}  // namespace

std::int64_t known_vocabulary(const config::Config& config) {
  constexpr std::int64_t kShakespeareCharacters = 65;
  if (config.vocab_size > 0) return config.vocab_size;
  return config.dataset == "shakespeare_char" ? kShakespeareCharacters
                                              : config::kPaddedGpt2Vocabulary;
}

DoctorCase examine(CaseInputs inputs) {
  DoctorCase c;
  c.log = std::move(inputs.log);
  c.config = config::read_config(config::Command::kPlan, inputs.config);
  const bool is_given = describes_run(inputs.config, c.config);
  // With a config there is still its answer.
  if (c.log && says_nothing(*c.log) && !is_given)
    throw log::LogError(log::LogProblem::kSaysNothing, *c.log);
  diagnosis::LogSettingsTaken taken;
  if (c.log) taken = diagnosis::take_settings_from_log(*c.log, c.config);
  c.card = card_of(c);
  const bool has_run = is_given || taken.describes_run || !c.log;
  if (has_run && inputs.depth >= CaseDepth::kModel) {
    c.diagnosis = cannot_be_built(c.config.values);
    if (c.diagnosis) return c;
    model_run(c, inputs);
  }
  const bool has_failed = c.log && !c.log->events.empty();
  if (c.log && !has_failed && !c.memory)
    throw log::LogError(log::LogProblem::kShowsNoFailure, *c.log);
  // A search models whole runs: not where those are cut short.
  const bool searches = inputs.depth >= CaseDepth::kModel && inputs.max_layers == 0;
  if (has_failed) {
    diagnose_failure(c, taken.notes,
                     searches ? diagnosis::RunSearch::kCommonSizes : diagnosis::RunSearch::kNone);
  }
  if (!has_failed && c.memory) c.prediction = prediction_of(c, taken.notes);
  c.card_bytes = card_bytes_of(c);
  if (c.memory) c.need = fixes::torch_need(*c.memory, c.card_bytes);
  if (c.memory && inputs.depth >= CaseDepth::kFixes) add_fixes(c);
  return c;
}

}  // namespace snug::doctor
