#include "doctor/diagnosis/card_trial.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/bytes.h"
#include "doctor/diagnosis/match.h"
#include "doctor/diagnosis/plausibility.h"

namespace snug::doctor::diagnosis {
namespace {

// A run with more tensors would take seconds to try.
constexpr std::size_t kMaxTensorsToTry = 400000;
// Limits that are tried within what the printed amounts leave open.
constexpr int kSteps = 12;

// Limits below the whole card that are tried for one at which the run fails as the message says.
constexpr int kLimits = 160;

// The printed amounts leave what PyTorch had open by some MiB; in pages of the driver.
struct Given {
  std::int64_t low_bytes, high_bytes;

  std::int64_t middle_bytes() const { return low_bytes + (high_bytes - low_bytes) / 2; }
};

std::optional<Given> given_of(const log::LogEvent& event) {
  if (!event.allocated || !event.free) return std::nullopt;
  const std::optional<log::LogAmount> unallocated = log::unallocated_range(event);
  if (!unallocated) return std::nullopt;
  if (event.reserved) {
    return Given{event.reserved->low_bytes + event.free->low_bytes,
                 event.reserved->high_bytes + event.free->high_bytes};
  }
  return Given{event.allocated->low_bytes + unallocated->low_bytes + event.free->low_bytes,
               event.allocated->high_bytes + unallocated->high_bytes + event.free->high_bytes};
}

// Of a message that is cut off: what the process held, else the whole card, less a context of
// unknown size.
std::optional<Given> assumed_given(const FailureEvidence& evidence, CardTrial& trial) {
  const CardAccount& account = evidence.account;
  const bool is_cut =
      evidence.event.is_cut && evidence.event.kind == log::LogEventKind::kCudaOutOfMemory;
  if (!is_cut || account.is_windows || !account.capacity) return std::nullopt;
  trial.is_assumed = true;
  trial.is_of_whole_card = !account.in_use || !account.free;
  const std::int64_t held = trial.is_of_whole_card ? *account.capacity - account.display
                                                   : *account.in_use + *account.free;
  if (held <= kMaxContextBytes) return std::nullopt;
  return Given{held - kMaxContextBytes, held - kMinContextBytes};
}

bool covers_about(const log::LogAmount& amount, std::int64_t bytes) {
  const std::int64_t slack = amount.high_bytes / 500;  // cuBLAS and kernels of another card
  return amount.low_bytes - slack <= bytes && bytes <= amount.high_bytes + slack;
}

bool is_of_message(const FailureEvidence& evidence, const torch::TorchReplay& replay,
                   const torch::TorchOutcome& outcome) {
  if (outcome.survives() || !evidence.request) return false;
  const torch::TorchTensor& tensor =
      replay.memory().tensors[static_cast<std::size_t>(outcome.failed)];
  constexpr double kContradicted = 0.06;  // by what the traceback says of it
  const std::optional<log::LogAmount>& allocated = evidence.event.allocated;
  return evidence.request->covers(tensor.bytes) &&
         (!allocated || covers_about(*allocated, outcome.allocated_bytes)) &&
         plausibility(evidence.moment, tensor) > kContradicted;
}

// The run as it was: within what the figures leave open, the limit at which it fails as the message
// says; else the middle.
torch::TorchOutcome run_as_it_was(const FailureEvidence& evidence, const torch::TorchReplay& replay,
                                  const Given& given, torch::TorchAllocatorSettings settings,
                                  CardTrial& trial) {
  const std::int64_t middle = given.middle_bytes();
  const std::int64_t step = (given.high_bytes - given.low_bytes) / kSteps;
  torch::TorchOutcome first;
  for (int i = 0; i <= kSteps; ++i) {  // from the middle outwards
    trial.given_bytes = middle + (i % 2 == 0 ? i : -i - 1) / 2 * step;
    settings.limit_bytes = trial.given_bytes;
    const torch::TorchOutcome outcome = replay.on_card(settings);
    trial.reproduces = is_of_message(evidence, replay, outcome);
    if (i == 0) first = outcome;
    if (!trial.reproduces) continue;
    // What the driver had left is printed finer than what PyTorch holds.
    if (const auto free = log::middle(evidence.event.free)) {
      trial.given_bytes = outcome.reserved_bytes + *free;
    }
    return outcome;
  }
  trial.given_bytes = middle;
  return first;
}

// The run survives on the whole card: others had part of it. The smallest limit at which it fails
// as the message says, with as much left to the driver: fixes must fit the worst that it can mean.
std::optional<torch::TorchOutcome> run_beside_others(const FailureEvidence& evidence,
                                                     const torch::TorchReplay& replay,
                                                     const Given& whole,
                                                     torch::TorchAllocatorSettings settings,
                                                     CardTrial& trial) {
  const std::optional<std::int64_t> free = log::middle(evidence.event.free);
  if (!free) return std::nullopt;
  for (int i = 1; i < kLimits; ++i) {
    settings.limit_bytes = whole.low_bytes / kLimits * i;
    torch::TorchOutcome outcome = replay.on_card(settings);
    if (!is_of_message(evidence, replay, outcome)) continue;
    settings.limit_bytes = outcome.reserved_bytes + *free;
    outcome = replay.on_card(settings);
    if (!is_of_message(evidence, replay, outcome)) continue;
    trial.reproduces = true;
    trial.given_bytes = settings.limit_bytes;
    return outcome;
  }
  return std::nullopt;
}

// A change that leaves less than the model's own error is not known to help.
std::int64_t with_margin(std::int64_t bytes) { return bytes - bytes / 200; }

std::int64_t max_split_bytes_of(std::string_view conf) {
  constexpr std::string_view kKey = "max_split_size_mb:";
  const std::size_t at = conf.find(kKey);
  if (at == std::string_view::npos) return 0;
  std::int64_t mebibytes = 0;
  const std::string_view number = conf.substr(at + kKey.size());
  std::from_chars(number.data(), number.data() + number.size(), mebibytes);
  return mebibytes > 0 && mebibytes < kMiB ? mebibytes * kMiB : 0;
}

// What would have helped, and how much is needed.
void try_changes(const torch::TorchReplay& replay, torch::TorchAllocatorSettings settings,
                 CardTrial& trial) {
  settings.limit_bytes = with_margin(trial.alone_bytes);
  trial.survives_alone = replay.on_card(settings).survives();
  trial.is_expandable_tried = !settings.expandable_segments;
  trial.survives_expandable =
      trial.is_expandable_tried && replay.survives(with_margin(trial.given_bytes), true);
  trial.needed_bytes = replay.smallest_card(settings.expandable_segments).bytes;
  if (trial.survives_expandable) {
    trial.needed_expandable_bytes = replay.smallest_card(true).bytes;
  }
}

}  // namespace

torch::TorchAllocatorSettings allocator_settings_of(const log::LogSummary& log,
                                                    const log::LogEvent& event) {
  torch::TorchAllocatorSettings settings;
  settings.expandable_segments = event.has_expandable_segments;
  for (const log::LogSetting& setting : log.facts.settings) {
    if (setting.source != log::LogSettingSource::kEnvironment) continue;
    if (setting.value.find("expandable_segments:True") != std::string::npos) {
      settings.expandable_segments = true;
    }
    if (const std::int64_t bytes = max_split_bytes_of(setting.value))
      settings.max_split_bytes = bytes;
  }
  return settings;
}

std::optional<CardTrial> try_on_card(const FailureEvidence& evidence,
                                     const torch::TorchMemory& memory) {
  const log::LogEvent& event = evidence.event;
  const CardAccount& account = evidence.account;
  CardTrial trial;
  std::optional<Given> given = given_of(event);
  if (!given) given = assumed_given(evidence, trial);
  const bool over_capacity = account.capacity && account.allocated > account.capacity;
  if (!given || over_capacity || memory.tensors.size() > kMaxTensorsToTry) return std::nullopt;
  const torch::TorchAllocatorSettings settings = allocator_settings_of(evidence.log, event);
  const torch::TorchReplay replay(memory.run);
  torch::TorchOutcome outcome = run_as_it_was(evidence, replay, *given, settings, trial);
  if (trial.is_of_whole_card && outcome.survives()) {
    const auto beside = run_beside_others(evidence, replay, *given, settings, trial);
    if (beside) outcome = *beside;
  }
  trial.fails = !outcome.survives();
  if (trial.fails) {
    trial.failed = candidate_of(replay.memory(),
                                replay.memory().tensors[static_cast<std::size_t>(outcome.failed)]);
  }
  trial.alone_bytes = trial.given_bytes + account.others.value_or(0);
  // Less than the largest context may be nobody's.
  if (trial.is_of_whole_card && trial.given_bytes < given->low_bytes) {
    trial.alone_bytes = given->middle_bytes();
  }
  try_changes(replay, settings, trial);
  return trial;
}

}  // namespace snug::doctor::diagnosis
