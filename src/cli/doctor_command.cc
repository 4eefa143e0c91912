// `snug doctor`: what PyTorch's nanoGPT needs of a card, what broke in a log, what to change.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>

#include "backend/cuda/cuda_target.h"
#include "base/bytes.h"
#include "base/error.h"
#include "cli/cli.h"
#include "cli/doctor_options.h"
#include "config/rewrite.h"
#include "data/atomic_file.h"
#include "doctor/diagnosis.h"
#include "doctor/log_reader.h"
#include "doctor/torch_fixes.h"
#include "fit/fixes.h"
#include "report/doctor_report.h"
#include "report/fix_table.h"
#include "train/device.h"
#include "train/planning.h"

namespace snug {
namespace {

LogReading read_log_of(const std::string& path) {
  if (path == "-") return read_log(std::cin);
  std::ifstream file(path, std::ios::binary);
  if (!file || file.peek() == std::ifstream::traits_type::eof()) {
    throw DataError(fmt::format("the log {} cannot be read, or is empty\ncheck --log", path));
  }
  return read_log(file);
}

// Nothing in it that is about memory, an error or a run.
bool says_nothing(const LogReading& log) {
  const LogFacts& facts = log.facts;
  return log.events.empty() && facts.settings.empty() && !facts.tokens_per_iteration &&
         !facts.last_iteration && facts.evaluation_count == 0 && facts.cards.empty() &&
         facts.shapes.empty();
}

// Everything that is known of one case.
struct Case {
  std::optional<LogReading> log;
  LoadedConfig config;
  bool has_config = false;
  std::int64_t vocab_size = 0;
  const Card* card = nullptr;
  std::optional<TorchMemory> memory;
  std::optional<Diagnosis> diagnosis;
  std::int64_t card_bytes = 0;
  std::optional<TorchFixes> fixes;
};

// nanoGPT's own data sets have a vocabulary that is known without their files.
std::int64_t vocabulary_of(const Config& config) {
  constexpr std::int64_t kShakespeareCharacters = 65;
  const Vocabulary found = find_vocabulary(config);
  const bool assumed = !found.meta && config.vocab_size == 0;
  return assumed && config.dataset == "shakespeare_char" ? kShakespeareCharacters : found.size;
}

// A config that nanoGPT itself cannot build is the answer.
std::optional<Diagnosis> cannot_be_built(const Config& config) {
  if (config.n_head <= 0 || config.n_embd <= 0 || config.n_embd % config.n_head == 0) {
    return std::nullopt;
  }
  const std::int64_t width = config.n_embd, heads = config.n_head;
  std::int64_t fitting_heads = heads;
  while (width % fitting_heads != 0) --fitting_heads;
  const std::int64_t fitting_width = std::max<std::int64_t>(1, (width + heads / 2) / heads) * heads;
  Diagnosis diagnosis;
  diagnosis.cause = Cause::kNotMemory;
  diagnosis.cause_confidence = 1;
  diagnosis.notes.push_back({NoteId::kHeadsDoNotDivide,
                             {std::to_string(width), std::to_string(heads),
                              std::to_string(fitting_heads), std::to_string(fitting_width)}});
  return diagnosis;
}

// nanoGPT takes float16 by itself where the card has no bfloat16.
void use_dtype_of(const Card& card, LoadedConfig& config) {
  if (card.bf16_tflops > 0 || config.is_set("dtype")) return;
  config.values.dtype = "float16";
}

const Card* card_of(const Case& c) {
  if (!c.config.values.card.empty()) return &card_named(c.config.values.card);
  if (!c.log) return nullptr;
  for (const LogCard& card : c.log->facts.cards) {
    if (const Card* known = find_card(card.name)) return known;
  }
  return nullptr;
}

// What the card can give to one process, its context included.
std::int64_t card_bytes_of(const Case& c) {
  if (c.diagnosis && c.diagnosis->capacity_bytes) {
    return *c.diagnosis->capacity_bytes - c.diagnosis->others_bytes.value_or(0);
  }
  if (c.card == nullptr) return 0;
  return c.card->reported_mib * kMiB - display_bytes(*c.card);
}

Case study(const DoctorOptions& options) {
  Case c;
  if (options.log) c.log = read_log_of(*options.log);
  if (c.log && says_nothing(*c.log)) {
    throw DataError(
        fmt::format("nothing in the log could be read ({} lines, {})\n"
                    "it should hold the error message of the run, best with the lines before it",
                    with_thousands(c.log->line_count), format_bytes(c.log->byte_count)));
  }
  c.config = read_config(Command::kPlan, options.config);
  const bool named =
      std::any_of(options.config.begin(), options.config.end(),
                  [](const std::string& word) { return !word.starts_with("--card="); });
  const bool shown = c.log && take_settings_from_log(*c.log, c.config).describes_run;
  c.has_config = named || shown || !c.log;
  c.card = card_of(c);
  if (c.has_config) {
    c.diagnosis = cannot_be_built(c.config.values);
    if (c.diagnosis) return c;
    if (c.config.values.device == "auto") c.config.values.device = "cuda";  // nanoGPT's default
    resolve(c.config);
    if (c.card != nullptr) use_dtype_of(*c.card, c.config);
    c.vocab_size = vocabulary_of(c.config.values);
    TorchRun run = torch_run_of(c.config.values, c.vocab_size, c.log ? &*c.log : nullptr);
    if (options.older_pytorch) run.version = TorchVersion::kOlder;
    c.memory = torch_memory(run);
  }
  if (c.log) c.diagnosis = diagnose(&*c.log, c.memory ? &*c.memory : nullptr, c.card);
  c.card_bytes = card_bytes_of(c);
  if (c.memory) {
    c.fixes = torch_fixes(c.config, c.memory->run, c.card_bytes, c.card,
                          c.diagnosis ? &*c.diagnosis : nullptr);
  }
  return c;
}

// What the same config needs here: on the card, or on one of the size that the log names.
std::optional<SnugNeed> snug_need(const Case& c) {
  if (!c.memory || c.card_bytes <= 0) return std::nullopt;
  const Card& card = c.card != nullptr ? *c.card : card_named("rtx3060");
  const cuda::CudaTarget target(card.bf16_tflops > 0);
  LoadedConfig config = c.config;
  config.values.dtype = name_of(c.memory->run.compute);
  const Planner planner(target, c.vocab_size, card_rates(card));
  const Budget budget =
      plain_budget(c.card_bytes - cuda_context(card).high_bytes, "the card", "0%");
  const Fixes fixes = find_fixes(planner, config, budget);
  SnugNeed need;
  need.device = c.card != nullptr ? std::string(card.name) : format_bytes(c.card_bytes);
  const auto as_it_is = planner.plan(config.values);
  need.total_bytes = as_it_is->total_bytes();
  need.fits = need.total_bytes <= budget.usable_bytes;
  if (!need.fits && fixes.chosen) {
    need.total_bytes = fixes.chosen->total_bytes;
    need.fits = true;
    need.changes = fmt::format("{}", fmt::join(as_arguments(fixes.chosen->changes), " "));
  }
  return need;
}

void write_whole(const std::string& path, const std::string& text) {
  AtomicFile file(path);
  file.append(text);
  file.stage();
  file.publish();
}

// The user's last config file with the recommended values, or a new one of these values alone.
void write_config(const std::string& path, const Case& c, const DoctorOptions& options) {
  if (!c.fixes || !c.fixes->recommended) {
    throw DataError(
        "there is nothing to write: no change of keys was found that makes it fit, or it fits as "
        "it is\nwithout --write the report says why");
  }
  std::string source;
  std::string name = path;
  for (const std::string& word : options.config) {
    if (word.starts_with("-")) continue;
    std::ifstream file(word, std::ios::binary);
    source.assign(std::istreambuf_iterator<char>(file), {});
    name = word;
  }
  const std::string reason =
      fmt::format("set by `snug doctor` so that it fits {}", format_bytes(c.card_bytes));
  const Rewritten result = rewrite_config(name, source, c.fixes->recommended->changes, reason);
  write_whole(path, result.text);
}

bool wants_color(const Config& config) {
  if (config.color != "auto") return config.color == "always";
  return isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr;
}

}  // namespace

int doctor_command(Arguments arguments) {
  const std::vector<std::string> typed(arguments.begin(), arguments.end());
  const DoctorOptions options = doctor_options(typed);
  if (typed.empty()) {
    throw ConfigError(
        "the doctor needs a config, a log or both\n"
        "snug doctor config.py --card=rtx3060, or snug doctor config.py --log=oom.txt");
  }
  const Language language = language_of(options.lang, locale_of_environment());
  const Case c = study(options);
  DoctorReport report;
  report.diagnosis = c.diagnosis;
  report.memory = c.memory ? &*c.memory : nullptr;
  report.fixes = c.fixes ? &*c.fixes : nullptr;
  report.card = c.card;
  report.card_bytes = c.card_bytes;
  report.snug = snug_need(c);
  report.explain = options.explain;
  report.arguments = typed;
  report.color = wants_color(c.config.values);
  report.language = language;
  if (options.html) write_whole(*options.html, doctor_page(report));
  if (options.write) write_config(*options.write, c, options);
  fmt::print("{}", options.json ? doctor_json(report) : doctor_text(report));
  return 0;
}

}  // namespace snug
