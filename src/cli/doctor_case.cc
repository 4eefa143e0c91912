#include "cli/doctor_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <system_error>

#include "backend/cuda/cuda_target.h"
#include "base/bytes.h"
#include "base/error.h"
#include "config/fields.h"
#include "doctor/log/reader.h"
#include "fit/fixes.h"
#include "report/plan/fix_table.h"
#include "train/planning.h"

namespace snug {
namespace {

// Nothing in it that is about memory, an error or a run.
bool says_nothing(const LogSummary& log) {
  const LogFacts& facts = log.facts;
  return log.events.empty() && facts.settings.empty() && !facts.tokens_per_iteration &&
         !facts.last_iteration && facts.evaluation_count == 0 && facts.cards.empty() &&
         facts.shapes.empty();
}

LogSummary read_log_file(const std::string& path, Language language) {
  if (path == "-") return read_log(std::cin);
  std::error_code none;
  const std::filesystem::file_status status = std::filesystem::status(path, none);
  const auto refuse = [&](TextId why) { throw DataError(text_in(language, why, {path})); };
  if (!std::filesystem::exists(status)) refuse(TextId::kErrorLogMissing);
  if (std::filesystem::is_directory(status)) refuse(TextId::kErrorLogIsFolder);
  std::ifstream file(path, std::ios::binary);
  if (!file) refuse(TextId::kErrorCannotReadLog);
  if (file.peek() == std::ifstream::traits_type::eof()) refuse(TextId::kErrorLogEmpty);
  return read_log(file);
}

[[noreturn]] void refuse_log(const LogSummary& log, TextId why, Language language) {
  throw DataError(
      text_in(language, why, {with_thousands(log.line_count), format_bytes(log.byte_count)}));
}

LogSummary read_log_of(const DoctorOptions& options) {
  LogSummary log = read_log_file(*options.log, options.language);
  if (says_nothing(log)) refuse_log(log, TextId::kErrorNothingInLog, options.language);
  return log;
}

// A file, or a key that PyTorch's memory depends on. --color and --card say nothing of the run.
bool gives_config(const DoctorOptions& options, const LoadedConfig& config) {
  return std::any_of(options.config.begin(), options.config.end(),
                     [](const std::string& word) { return !word.starts_with('-'); }) ||
         std::any_of(config.origins.begin(), config.origins.end(),
                     [](const auto& set) { return decides_memory(set.first); });
}

// nanoGPT's own data sets have a vocabulary that is known without their files.
std::int64_t vocabulary_of(const Config& config) {
  constexpr std::int64_t kShakespeareCharacters = 65;
  try {
    const Vocabulary found = find_vocabulary(config);
    const bool assumed = !found.meta && config.vocab_size == 0;
    return assumed && config.dataset == "shakespeare_char" ? kShakespeareCharacters : found.size;
  } catch (const DataError&) {  // a damaged meta.pkl is no reason to say nothing of the log
    return kPaddedGpt2Vocabulary;
  }
}

// A config that nanoGPT itself cannot build is the answer. Values outside of all ranges are left to
// resolve().
std::optional<Diagnosis> cannot_be_built(const Config& config) {
  const auto is_in_range = [&](std::int64_t Config::*key) {
    return field_of(key).limit.allows(static_cast<double>(config.*key));
  };
  if (!is_in_range(&Config::n_embd) || !is_in_range(&Config::n_head)) return std::nullopt;
  const std::optional<Note> note = heads_note(config.n_embd, config.n_head);
  if (!note) return std::nullopt;
  Diagnosis diagnosis;
  diagnosis.cause = Cause::kNotMemory;
  diagnosis.cause_confidence = 1;
  diagnosis.notes = {*note};
  return diagnosis;
}

// nanoGPT takes float16 by itself where the card has no bfloat16.
void use_dtype_of(const Card& card, LoadedConfig& config) {
  if (card.bf16_tflops > 0 || config.is_set("dtype")) return;
  config.values.dtype = "float16";
}

const Card* card_of(const DoctorCase& c) {
  if (!c.config.values.card.empty()) return &card_named(c.config.values.card);
  if (!c.log) return nullptr;
  for (const LogCard& card : c.log->facts.cards) {
    if (const Card* known = find_card(card.name)) return known;
  }
  return nullptr;
}

std::int64_t card_bytes_of(const DoctorCase& c) {
  if (c.diagnosis && c.diagnosis->capacity_bytes) {
    return *c.diagnosis->capacity_bytes - c.diagnosis->others_bytes.value_or(0);
  }
  if (c.card == nullptr) return 0;
  return c.card->reported_mib * kMiB - display_bytes(*c.card);
}

// The config follows: fixes and --write start from the run that failed.
void take_run(DoctorCase& c, const TorchRun& run) {
  c.memory = torch_memory(run);
  c.config.values.compile = run.compiled;
}

void model_run(DoctorCase& c, const DoctorOptions& options) {
  if (c.config.values.device == "auto") c.config.values.device = "cuda";  // nanoGPT's default
  resolve(c.config);
  if (c.card != nullptr) use_dtype_of(*c.card, c.config);
  c.vocab_size = vocabulary_of(c.config.values);
  TorchRun run = torch_run_of(c.config.values, c.vocab_size, c.log ? &*c.log : nullptr);
  if (options.older_pytorch) run.version = TorchVersion::kOlder;
  take_run(c, run);
}

void examine_log(DoctorCase& c, const std::vector<Note>& of_settings) {
  c.diagnosis = diagnose(&*c.log, c.memory ? &*c.memory : nullptr, c.card);
  if (!c.memory) return;
  auto& notes = c.diagnosis->notes;
  notes.insert(notes.begin(), of_settings.begin(), of_settings.end());
  if (c.diagnosis->matched_run) take_run(c, *c.diagnosis->matched_run);
}

// Nothing has failed, or not yet: what the model says, with what the log shows of the run.
Diagnosis prediction_of(const DoctorCase& c, const std::vector<Note>& of_settings) {
  Diagnosis prediction = diagnose(nullptr, &*c.memory, c.card);
  if (!c.log) return prediction;
  std::vector<Note> notes{{NoteId::kNoFailureInLog, {}}};
  notes.insert(notes.end(), of_settings.begin(), of_settings.end());
  prediction.notes.insert(prediction.notes.begin(), notes.begin(), notes.end());
  return prediction;
}

}  // namespace

DoctorCase study(const DoctorOptions& options) {
  DoctorCase c;
  if (options.log) c.log = read_log_of(options);
  c.config = read_config(Command::kPlan, options.config);
  const bool is_given = gives_config(options, c.config);
  LogSettingsTaken taken;
  if (c.log) taken = take_settings_from_log(*c.log, c.config);
  c.card = card_of(c);
  if (is_given || taken.describes_run || !c.log) {
    c.diagnosis = cannot_be_built(c.config.values);
    if (c.diagnosis) return c;
    model_run(c, options);
  }
  const bool has_failed = c.log && !c.log->events.empty();
  if (c.log && !has_failed && !c.memory) {
    refuse_log(*c.log, TextId::kErrorNoFailureInLog, options.language);
  }
  if (has_failed) examine_log(c, taken.notes);
  if (!has_failed && (c.log || c.card)) c.prediction = prediction_of(c, taken.notes);
  c.card_bytes = card_bytes_of(c);
  if (c.memory) {
    c.fixes = torch_fixes(c.config, c.memory->run, c.card_bytes, c.card,
                          c.diagnosis ? &*c.diagnosis : nullptr);
  }
  return c;
}

std::optional<SnugNeed> snug_need(const DoctorCase& c) {
  if (!c.memory || c.card_bytes <= 0) return std::nullopt;
  const Card& card = c.card != nullptr ? *c.card : card_named("rtx3060");
  const cuda::CudaTarget target(card.bf16_tflops > 0);
  LoadedConfig config = c.config;
  config.values.dtype = name_of(c.memory->run.compute);
  const Planner planner(target, c.vocab_size, card_rates(card));
  // Where others hold nearly all of the card not even the context has room.
  const std::int64_t usable =
      std::max<std::int64_t>(0, c.card_bytes - cuda_context(card).high_bytes);
  SnugNeed need;
  if (c.card != nullptr) need.device = card.name;
  need.total_bytes = planner.plan(config.values)->total_bytes();
  need.fits = need.total_bytes <= usable;
  if (need.fits) return need;
  const Fixes fixes = find_fixes(planner, config, plain_budget(usable, "the card", "0%"));
  if (fixes.chosen) {
    need.total_bytes = fixes.chosen->total_bytes;
    need.fits = true;
    need.changes = fmt::format("{}", fmt::join(as_arguments(fixes.chosen->changes), " "));
  }
  return need;
}

}  // namespace snug
