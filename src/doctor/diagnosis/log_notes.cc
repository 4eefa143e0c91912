#include "doctor/diagnosis/log_notes.h"

#include <algorithm>
#include <variant>

#include "base/bytes.h"
#include "config/fields.h"
#include "config/head_sizes.h"
#include "config/python/reader.h"
#include "doctor/diagnosis/run.h"

namespace snug::doctor::diagnosis {
namespace {

std::string shown(const std::optional<log::LogAmount>& amount) {
  return amount ? format_bytes(log::middle(*amount)) : "";
}

// The request as printed against what it can stand for.
void add_request_notes(const FailureEvidence& evidence, std::vector<Note>& notes) {
  const log::LogEvent& event = evidence.event;
  const std::optional<log::LogAmount>& range = evidence.request;
  if (!range || range->is_exact()) return;
  const bool is_two_mib = range->high_bytes % (2 * kMiB) == 0;
  if (event.wording == log::LogWording::kCached && !is_two_mib) {
    notes.push_back({NoteId::kOldRounding, {}});
  }
  // MPS and cudaMallocAsync print the request itself.
  if (event.wording == log::LogWording::kMps || event.wording == log::LogWording::kMallocAsync)
    return;
  notes.push_back(
      {NoteId::kRoundedRequest,
       {shown(event.request), format_bytes(range->low_bytes), format_bytes(range->high_bytes)}});
}

void add_process_notes(const log::LogEvent& event, const CardAccount& account,
                       std::vector<Note>& notes) {
  if (event.allocated && account.capacity && event.allocated->low_bytes > *account.capacity) {
    notes.push_back({NoteId::kAllocatedOverCapacity,
                     {shown(event.allocated), format_bytes(*account.capacity)}});
  }
  const bool nameless = std::any_of(event.processes.begin(), event.processes.end(),
                                    [](const log::LogProcess& p) { return !p.in_use; });
  // 2^64 bytes in GiB: what "not known" prints as, for this process too.
  const bool has_unknown = event.text.find("1717986918") != std::string::npos;
  if (nameless || has_unknown) notes.push_back({NoteId::kNotAvailablePerProcess, {}});
  if (account.self_pid) {
    notes.push_back({NoteId::kSelfIsProcess, {std::to_string(*account.self_pid)}});
  }
  if (account.idle_context_count > 0) {
    notes.push_back({NoteId::kIdleContexts, {std::to_string(account.idle_context_count)}});
  }
}

void add_limit_notes(const log::LogSummary& log, const log::LogEvent& event,
                     std::vector<Note>& notes) {
  const bool is_free =
      event.free && event.request && event.free->low_bytes >= event.request->high_bytes;
  if (is_free && (shows_ddp(log.facts) || event.rank)) {
    notes.push_back({NoteId::kTwoRanksOneCard, {}});
  }
  if (event.limit && event.kind == log::LogEventKind::kCudaOutOfMemory) {
    notes.push_back({NoteId::kLimitSet, {shown(event.limit)}});
  }
}

bool mentions_prepare(const log::LogSummary& log) {
  constexpr std::string_view kScript = "prepare.py";
  const auto has = [&](const std::string& text) { return text.find(kScript) != text.npos; };
  for (const log::LogEvent& event : log.events) {
    if (has(event.text)) return true;
    if (std::any_of(event.frames.begin(), event.frames.end(),
                    [&](const log::LogFrame& frame) { return has(frame.file); })) {
      return true;
    }
  }
  const auto& files = log.facts.config_files;
  return std::any_of(files.begin(), files.end(), has);
}

void add_host_notes(const log::LogSummary& log, const log::LogEvent& event,
                    std::vector<Note>& notes) {
  if (event.kind == log::LogEventKind::kHostAllocator) {
    notes.push_back({NoteId::kHostAllocator, {shown(event.request)}});
  } else {
    notes.push_back({NoteId::kHostKilled, {shown(event.process_in_use)}});
  }
  if (mentions_prepare(log)) notes.push_back({NoteId::kPrepareWorkers, {}});
}

// What the driver refused, it refused to bitsandbytes' own code.
bool is_of_bitsandbytes(const log::LogSummary& log, const log::LogEvent& event) {
  if (event.kind != log::LogEventKind::kDriver) return false;
  return std::any_of(log.events.begin(), log.events.end(), [&](const log::LogEvent& other) {
    return other.kind == log::LogEventKind::kBitsandbytes && !other.detail.empty() &&
           other.line == event.line;
  });
}

// What the host gives is short.
bool is_of_host(const log::LogEvent& event) {
  return event.kind == log::LogEventKind::kDriver ||
         event.kind == log::LogEventKind::kBitsandbytes ||
         log::memory_of(event.kind) == log::LogMemory::kHost;
}

// Notes on kinds of events that have one note each.
void add_kind_notes(const log::LogEvent& event, std::vector<Note>& notes) {
  switch (event.kind) {
    case log::LogEventKind::kAllocatorWarning:
      notes.push_back({NoteId::kOnlyAWarning, {}});
      break;
    case log::LogEventKind::kDriver:
      notes.push_back({NoteId::kDriverThreeCauses, {}});
      break;
    case log::LogEventKind::kBitsandbytes:
      notes.push_back(
          {event.detail.empty() ? NoteId::kBitsandbytesSetup : NoteId::kBitsandbytesCode, {}});
      break;
    case log::LogEventKind::kVllmCache:
      notes.push_back({NoteId::kVllmCache, {}});
      break;
    case log::LogEventKind::kCublas:
      notes.push_back({NoteId::kCublasThreeCauses, {}});
      break;
    case log::LogEventKind::kNccl:
      notes.push_back({NoteId::kNcclBuffers, {}});
      break;
    case log::LogEventKind::kMpsOutOfMemory:
      notes.push_back({NoteId::kMpsSharesRam, {}});
      break;
    case log::LogEventKind::kTritonResources:
      notes.push_back({NoteId::kSharedMemoryOfChip, {shown(event.request), shown(event.limit)}});
      break;
    case log::LogEventKind::kSharedMemory:
      notes.push_back({NoteId::kDevShm, {}});
      break;
    case log::LogEventKind::kDeviceAssert:
      notes.push_back({NoteId::kTokenBeyondVocabulary, {}});
      break;
    case log::LogEventKind::kDiskFull:
      notes.push_back({NoteId::kDiskFull, {}});
      break;
    case log::LogEventKind::kOtherError:
      notes.push_back({NoteId::kOtherError, {event.exception}});
      break;
    default:
      break;
  }
}

// The first card without bfloat16 that the log or the user names.
std::string card_without_bfloat16(const log::LogSummary* log, const fit::Card* card) {
  if (card != nullptr) return card->bf16_tflops == 0 ? std::string(card->name) : "";
  if (log == nullptr) return "";
  for (const log::LogCard& named : log->facts.cards) {
    const fit::Card* const known = fit::find_card(named.name);
    if (known != nullptr && known->bf16_tflops == 0) return std::string(known->name);
  }
  return "";
}

// Within the limits of a key that holds a whole number.
bool is_possible(std::string_view key, std::int64_t value) {
  return config::find_field(key)->limit.allows(static_cast<double>(value));
}

}  // namespace

void add_log_notes(const FailureEvidence& evidence, std::vector<Note>& notes) {
  const log::LogEvent& event = evidence.event;
  add_kind_notes(event, notes);
  if (is_of_bitsandbytes(evidence.log, event)) notes.push_back({NoteId::kBitsandbytesCode, {}});
  if (event.is_corrupt) notes.push_back({NoteId::kCorruptSize, {}});
  if (event.is_cut) notes.push_back({NoteId::kMessageCut, {}});
  if (log::memory_of(event.kind) == log::LogMemory::kHost)
    add_host_notes(evidence.log, event, notes);
  if (evidence.log.facts.is_wsl && is_of_host(event)) notes.push_back({NoteId::kWsl, {}});
  if (log::memory_of(event.kind) != log::LogMemory::kCard) return;
  if (evidence.moment.is_sampling) notes.push_back({NoteId::kSampling, {}});
  add_request_notes(evidence, notes);
  add_process_notes(event, evidence.account, notes);
  add_limit_notes(evidence.log, event, notes);
}

void add_warning_notes(const log::LogSummary* log, const torch::TorchMemory* memory,
                       const fit::Card* card, std::vector<Note>& notes) {
  const auto first_of = [log](log::LogEventKind kind) -> const log::LogEvent* {
    if (log == nullptr) return nullptr;
    const auto found = std::find_if(log->events.begin(), log->events.end(),
                                    [&](const log::LogEvent& event) { return event.kind == kind; });
    return found == log->events.end() ? nullptr : &*found;
  };
  if (first_of(log::LogEventKind::kNotEnoughSms)) notes.push_back({NoteId::kNotEnoughSms, {}});
  if (first_of(log::LogEventKind::kMatmulPrecision)) {
    notes.push_back({NoteId::kMatmulPrecision, {}});
  }
  if (const log::LogEvent* const scaler = first_of(log::LogEventKind::kGradScalerDeprecated)) {
    notes.push_back({NoteId::kGradScalerDeprecated, {corrected_gradscaler(scaler->detail)}});
  }
  const log::LogEvent* const dtype = first_of(log::LogEventKind::kDtypeUnsupported);
  const bool lacks = dtype != nullptr && (dtype->dtype.empty() || dtype->dtype == "bfloat16");
  const std::string old_card = card_without_bfloat16(log, card);
  const bool wants = memory != nullptr && memory->run.compute == DType::kBF16;
  if (lacks || (wants && !old_card.empty())) notes.push_back({NoteId::kNoBfloat16, {old_card}});
}

std::optional<Note> heads_note(std::int64_t n_embd, std::int64_t n_head) {
  if (!is_possible("n_embd", n_embd) || !is_possible("n_head", n_head)) return std::nullopt;
  if (n_embd % n_head == 0) return std::nullopt;
  return Note{NoteId::kHeadsDoNotDivide,
              {std::to_string(n_embd), std::to_string(n_head),
               std::to_string(config::nearest_divisor(n_embd, n_head)),
               std::to_string(config::nearest_width(n_embd, n_head))}};
}

std::optional<Note> heads_note_of(const log::LogSummary& log, const log::LogEvent& event) {
  const bool asserts =
      std::any_of(event.frames.begin(), event.frames.end(), [](const log::LogFrame& frame) {
        return frame.source.find("n_embd % config.n_head") != std::string::npos;
      });
  if (!asserts) return std::nullopt;
  const config::Config defaults;
  std::int64_t width = defaults.n_embd, heads = defaults.n_head;
  for (const log::LogSetting& setting : log.facts.settings) {
    if (setting.key != "n_embd" && setting.key != "n_head") continue;
    const std::optional<config::Value> literal = config::python::read_literal(setting.value);
    const std::int64_t* const value = literal ? std::get_if<std::int64_t>(&*literal) : nullptr;
    if (value == nullptr || !is_possible(setting.key, *value)) continue;
    (setting.key == "n_embd" ? width : heads) = *value;
  }
  return heads_note(width, heads);
}

std::string corrected_gradscaler(std::string line) {
  constexpr std::string_view kOld = "torch.cuda.amp.GradScaler(";
  const std::size_t at = line.find(kOld);
  if (at == std::string::npos) return line;
  const std::string_view rest = std::string_view(line).substr(at + kOld.size());
  const std::size_t argument = std::min(rest.find_first_not_of(' '), rest.size());
  const bool is_empty = rest.substr(argument).starts_with(')') || argument == rest.size();
  line.replace(at, kOld.size(),
               is_empty ? "torch.amp.GradScaler('cuda'" : "torch.amp.GradScaler('cuda', ");
  return line;
}

}  // namespace snug::doctor::diagnosis
