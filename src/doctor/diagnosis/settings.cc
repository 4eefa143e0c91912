#include "doctor/diagnosis/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/bytes.h"
#include "base/error.h"
#include "config/diagnostic.h"
#include "config/fields.h"
#include "config/python/reader.h"
#include "config/source_file.h"
#include "gpt2/spec.h"

namespace snug::doctor::diagnosis {
namespace {

constexpr std::string_view kLogName = "log";

// nanoGPT's keys that decide memory: only these are taken from a person's prose.
constexpr std::string_view kMemoryKeys[] = {"batch_size",
                                            "block_size",
                                            "n_layer",
                                            "n_head",
                                            "n_embd",
                                            "vocab_size",
                                            "dtype",
                                            "compile",
                                            "dropout",
                                            "bias",
                                            "gradient_accumulation_steps",
                                            "init_from"};
// What else PyTorch's memory depends on, here and in edited copies of nanoGPT.
constexpr std::string_view kOtherMemoryKeys[] = {"grad_clip",         "eval_batch_size",
                                                 "eval_block_size",   "grad_checkpoint",
                                                 "checkpoint_blocks", "effective_batch"};

// nanoGPT's own files, for a command line without the echo of its file.
struct ShippedSetting {
  std::string_view file, key, value;
};
constexpr ShippedSetting kShipped[] = {
    {"train_shakespeare_char.py", "gradient_accumulation_steps", "1"},
    {"train_shakespeare_char.py", "batch_size", "64"},
    {"train_shakespeare_char.py", "block_size", "256"},
    {"train_shakespeare_char.py", "n_layer", "6"},
    {"train_shakespeare_char.py", "n_head", "6"},
    {"train_shakespeare_char.py", "n_embd", "384"},
    {"train_shakespeare_char.py", "dropout", "0.2"},
    {"train_shakespeare_char.py", "vocab_size", "65"},
    {"finetune_shakespeare.py", "init_from", "'gpt2-xl'"},
    {"finetune_shakespeare.py", "batch_size", "1"},
    {"finetune_shakespeare.py", "gradient_accumulation_steps", "32"},
    {"train_gpt2.py", "batch_size", "12"},
    {"train_gpt2.py", "block_size", "1024"},
    {"train_gpt2.py", "gradient_accumulation_steps", "40"},
    {"eval_gpt2.py", "init_from", "'gpt2'"},
    {"eval_gpt2.py", "batch_size", "8"},
    {"eval_gpt2_medium.py", "init_from", "'gpt2-medium'"},
    {"eval_gpt2_medium.py", "batch_size", "8"},
    {"eval_gpt2_large.py", "init_from", "'gpt2-large'"},
    {"eval_gpt2_large.py", "batch_size", "8"},
    {"eval_gpt2_xl.py", "init_from", "'gpt2-xl'"},
    {"eval_gpt2_xl.py", "batch_size", "8"},
};

bool is_named(const log::LogFacts& facts, std::string_view shipped) {
  return std::any_of(
      facts.config_files.begin(), facts.config_files.end(), [&](std::string_view path) {
        return path.ends_with(shipped) &&
               (path.size() == shipped.size() || path[path.size() - shipped.size() - 1] == '/');
      });
}

bool names_shipped(const log::LogFacts& facts) {
  return std::any_of(std::begin(kShipped), std::end(kShipped),
                     [&](const ShippedSetting& row) { return is_named(facts, row.file); });
}

template <std::size_t kCount>
bool is_among(const std::string_view (&keys)[kCount], std::string_view key) {
  return std::find(std::begin(keys), std::end(keys), key) != std::end(keys);
}

// Puts values of the log into a config, weaker sources first.
class LogSettings {
 public:
  explicit LogSettings(config::LoadedConfig& config) : config_(config) {}

  void take(std::string_view key, const config::Value& value, std::int64_t line,
            bool is_weak = false);
  void take_shipped(const log::LogFacts& facts);
  void take_echo(const log::LogFacts& facts);
  void take_settings(const log::LogFacts& facts, log::LogSettingSource source);
  void take_progress(const log::LogFacts& facts);
  // "batch_size = 64, compile = False": what decides memory; empty: no such key was taken.
  std::string taken() const;

 private:
  config::LoadedConfig& config_;
  std::vector<std::string> taken_;  // keys
};

// A value that the field does not take is a misprint of the log: left out.
void LogSettings::take(std::string_view key, const config::Value& value, std::int64_t line,
                       bool is_weak) {
  const config::Field* const field = config::find_field(key);
  if (field == nullptr || field->source != config::KeySource::kNanoGpt) {
    if (key != "vocab_size") return;
  }
  const auto set = config_.origins.find(key);
  if (set != config_.origins.end()) {
    if (is_weak || set->second.kind == config::Origin::Kind::kCommandLine) return;
  }
  config::Config trial = config_.values;
  try {
    config::assign_field(trial, *field, value);
    config::check_range(trial, *field);
  } catch (const config::Fault&) {
    return;
  }
  config_.values = std::move(trial);
  config::Origin origin;
  origin.kind = config::Origin::Kind::kFile;
  origin.file = kLogName;
  origin.line = static_cast<int>(std::min<std::int64_t>(line, 1 << 30));
  config_.origins[std::string(key)] = std::move(origin);
  if (std::find(taken_.begin(), taken_.end(), key) == taken_.end()) taken_.emplace_back(key);
}

std::string LogSettings::taken() const {
  std::vector<std::string> shown;
  for (const std::string& key : taken_) {
    if (!decides_memory(key)) continue;
    shown.push_back(fmt::format(
        "{} = {}", key,
        config::python_repr(config::field_value(config_.values, *config::find_field(key)))));
  }
  return fmt::format("{}", fmt::join(shown, ", "));
}

void LogSettings::take_shipped(const log::LogFacts& facts) {
  for (const ShippedSetting& row : kShipped) {
    if (is_named(facts, row.file)) take(row.key, *config::python::read_literal(row.value), 0, true);
  }
}

// The file as nanoGPT read it, expressions and all; line by line when it cannot be read as a whole.
void LogSettings::take_echo(const log::LogFacts& facts) {
  config::LoadedConfig echoed;
  try {
    if (!config::is_utf8(facts.config_text)) throw ConfigError("not text");
    config::python::PythonReader(echoed).read(
        config::SourceFile(std::string(kLogName), facts.config_text));
  } catch (const ConfigError&) {
    take_settings(facts, log::LogSettingSource::kConfigEcho);
    return;
  }
  for (const auto& [key, origin] : echoed.origins) {
    const config::Field* const field = config::find_field(key);
    if (field != nullptr) take(key, config::field_value(echoed.values, *field), origin.line);
  }
}

void LogSettings::take_settings(const log::LogFacts& facts, log::LogSettingSource source) {
  const bool is_weak = source == log::LogSettingSource::kMention;
  for (const log::LogSetting& setting : facts.settings) {
    if (setting.source != source) continue;
    if (is_weak && !is_among(kMemoryKeys, setting.key)) continue;
    const std::optional<config::Value> literal = config::python::read_literal(setting.value);
    take(setting.key, literal ? *literal : config::Value{setting.value}, setting.line, is_weak);
  }
}

void LogSettings::take_progress(const log::LogFacts& facts) {
  if (!facts.pretrained.empty()) take("init_from", facts.pretrained, 0);
  if (facts.is_resumed) take("init_from", std::string("resume"), 0);
  if (facts.vocab_size) take("vocab_size", *facts.vocab_size, 0);
  if (facts.is_compiled) take("compile", true, 0);
}

bool is_launcher_key(std::string_view key) {
  constexpr std::string_view kHeads[] = {"nproc",  "nnodes", "node",         "standalone",
                                         "master", "rdzv",   "max_restarts", "local"};
  return std::any_of(std::begin(kHeads), std::end(kHeads),
                     [&](std::string_view head) { return key.starts_with(head); });
}

// A command line of nanoGPT has no keys but its own.
bool has_nanogpt_command(const log::LogFacts& facts) {
  bool has_own = false;
  for (const log::LogSetting& setting : facts.settings) {
    if (setting.source != log::LogSettingSource::kCommandLine || is_launcher_key(setting.key))
      continue;
    const config::Field* const field = config::find_field(setting.key);
    if (field == nullptr || field->source != config::KeySource::kNanoGpt) return false;
    has_own = true;
  }
  return has_own;
}

bool is_nanogpt(const log::LogFacts& facts) {
  const bool overrides =
      std::any_of(facts.settings.begin(), facts.settings.end(), [](const log::LogSetting& s) {
        return s.source == log::LogSettingSource::kOverride ||
               s.source == log::LogSettingSource::kConfigEcho;
      });
  return overrides || facts.tokens_per_iteration || facts.parameter_count ||
         facts.decayed_parameter_count || has_nanogpt_command(facts) || names_shipped(facts);
}

// Prints a count with the two decimals of train.py.
std::string as_printed(std::int64_t parameters) {
  return fmt::format("{:.2f}M", static_cast<double>(parameters) / 1e6);
}

void note_disagreements(const log::LogFacts& facts, const config::Config& config,
                        std::vector<Note>& notes) {
  const std::int64_t tokens = config::effective_batch_of(config) * config.block_size;
  if (facts.tokens_per_iteration && *facts.tokens_per_iteration != tokens) {
    notes.push_back({NoteId::kOtherTokens,
                     {with_thousands(*facts.tokens_per_iteration), with_thousands(tokens)}});
  }
  const std::int64_t vocabulary =
      config.vocab_size > 0 ? config.vocab_size : config::kPaddedGpt2Vocabulary;
  const std::int64_t count = gpt2::make_model_spec(config, vocabulary).reported_parameter_count();
  const auto& printed = facts.parameter_count;
  if (printed && (count < printed->low || count > printed->high)) {
    notes.push_back({NoteId::kOtherParameters,
                     {as_printed(printed->low / 2 + printed->high / 2), as_printed(count)}});
  }
}

// Derived values follow. The run was nanoGPT's, on a card unless it says otherwise. The shapes of
// OpenAI's models are known to planning only. False: no run has such settings.
bool settle(config::LoadedConfig& config) {
  if (config.values.device == "auto") config.values.device = "cuda";
  const config::Command command = std::exchange(config.command, config::Command::kPlan);
  try {
    config::resolve(config);
  } catch (const ConfigError&) {
    return false;
  }
  config.command = command;
  return true;
}

}  // namespace

LogSettingsTaken take_settings_from_log(const log::LogSummary& log, config::LoadedConfig& config) {
  const log::LogFacts& facts = log.facts;
  config::LoadedConfig trial = config;
  LogSettings settings(trial);
  settings.take_settings(facts, log::LogSettingSource::kMention);
  settings.take_shipped(facts);
  settings.take_echo(facts);
  settings.take_settings(facts, log::LogSettingSource::kCommandLine);
  settings.take_settings(facts, log::LogSettingSource::kOverride);
  settings.take_progress(facts);
  const std::string taken = settings.taken();
  LogSettingsTaken result;
  if (!settle(trial)) {
    if (!taken.empty()) result.notes.push_back({NoteId::kLogSettingsNotUsed, {taken}});
    return result;
  }
  if (!taken.empty()) result.notes.push_back({NoteId::kSettingsFromLog, {taken}});
  note_disagreements(facts, trial.values, result.notes);
  config = std::move(trial);
  result.describes_run = is_nanogpt(facts);
  return result;
}

bool decides_memory(std::string_view key) {
  return is_among(kMemoryKeys, key) || is_among(kOtherMemoryKeys, key);
}

}  // namespace snug::doctor::diagnosis
