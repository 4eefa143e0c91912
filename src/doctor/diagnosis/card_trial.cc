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

// The printed amounts leave what PyTorch had open by some MiB; in pages of the driver.
struct Given {
  std::int64_t low_bytes, high_bytes;
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
  return evidence.request->covers(tensor.bytes) &&
         covers_about(*evidence.event.allocated, outcome.allocated_bytes) &&
         plausibility(evidence.moment, tensor) > kContradicted;
}

// The run as it was: within what the figures leave open, the limit at which it fails as the message
// says; else the middle.
torch::TorchOutcome run_as_it_was(const FailureEvidence& evidence, const torch::TorchReplay& replay,
                                  const Given& given, torch::TorchAllocatorSettings settings,
                                  CardTrial& trial) {
  const std::int64_t middle = given.low_bytes + (given.high_bytes - given.low_bytes) / 2;
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
    trial.given_bytes = outcome.reserved_bytes + log::middle(*evidence.event.free);
    return outcome;
  }
  trial.given_bytes = middle;
  return first;
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
    settings.max_split_bytes = max_split_bytes_of(setting.value);
  }
  return settings;
}

std::optional<CardTrial> try_on_card(const FailureEvidence& evidence,
                                     const torch::TorchMemory& memory) {
  const log::LogEvent& event = evidence.event;
  const CardAccount& account = evidence.account;
  const std::optional<Given> given = given_of(event);
  const bool over_capacity = account.capacity && account.allocated > account.capacity;
  if (!given || over_capacity || memory.tensors.size() > kMaxTensorsToTry) return std::nullopt;
  torch::TorchAllocatorSettings settings = allocator_settings_of(evidence.log, event);
  const torch::TorchReplay replay(memory.run);
  CardTrial trial;
  const torch::TorchOutcome outcome = run_as_it_was(evidence, replay, *given, settings, trial);
  trial.fails = !outcome.survives();
  if (trial.fails) {
    trial.failed = candidate_of(replay.memory(),
                                replay.memory().tensors[static_cast<std::size_t>(outcome.failed)]);
  }
  trial.alone_bytes = trial.given_bytes + account.others.value_or(0);
  settings.limit_bytes = with_margin(trial.alone_bytes);
  trial.survives_alone = replay.on_card(settings).survives();
  trial.is_expandable_tried = !settings.expandable_segments;
  trial.survives_expandable =
      trial.is_expandable_tried && replay.survives(with_margin(trial.given_bytes), true);
  trial.needed_bytes = replay.smallest_card().bytes;
  if (trial.survives_expandable) {
    trial.needed_expandable_bytes = replay.smallest_card(true).bytes;
  }
  return trial;
}

}  // namespace snug::doctor::diagnosis
