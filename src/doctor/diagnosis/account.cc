#include "doctor/diagnosis/account.h"

#include <algorithm>

namespace snug::doctor::diagnosis {
namespace {

constexpr std::int64_t kContextWithNcclBytes = 1536 * kMiB;

// Three printed amounts, each off by up to 5 MiB, leave less than this over by themselves.
constexpr std::int64_t kRoundingBytes = 16 * kMiB;

bool is_whole_gib(const log::LogAmount& amount) {
  const std::int64_t whole = (log::middle(amount) + kGiB / 2) / kGiB * kGiB;
  return amount.covers(whole);
}

// Windows lets a process hold more than the card has, cannot tell processes apart and rounds the
// card's size up to whole GiB.
bool shows_windows(const log::LogEvent& event) {
  if (event.allocated && event.capacity &&
      event.allocated->low_bytes > event.capacity->high_bytes) {
    return true;
  }
  const bool nameless = std::any_of(event.processes.begin(), event.processes.end(),
                                    [](const log::LogProcess& p) { return !p.in_use; });
  return nameless || (event.capacity && is_whole_gib(*event.capacity));
}

// In a container this process is one of the listed: the one that holds just more than PyTorch.
std::optional<std::size_t> self_among(const log::LogEvent& event, std::int64_t own_bytes) {
  if (event.process_in_use || !event.allocated) return std::nullopt;
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < event.processes.size(); ++i) {
    const std::optional<log::LogAmount>& in_use = event.processes[i].in_use;
    if (!in_use || in_use->high_bytes < own_bytes) continue;
    if (!best || log::middle(*in_use) < log::middle(*event.processes[*best].in_use)) best = i;
  }
  return best;
}

void fill_processes(const log::LogEvent& event, CardAccount& account) {
  const std::optional<std::size_t> self = self_among(event, account.own_bytes());
  for (std::size_t i = 0; i < event.processes.size(); ++i) {
    const log::LogProcess& process = event.processes[i];
    if (i == self) {
      account.self_pid = process.pid;
      account.in_use = log::middle(process.in_use);
      continue;
    }
    account.other_processes.push_back(process);
    if (process.in_use && log::middle(*process.in_use) <= kMaxContextBytes)
      ++account.idle_context_count;
  }
}

void fill_others(const log::LogEvent& event, bool is_ddp, CardAccount& account) {
  if (!account.capacity || !account.free) return;
  if (event.kind == log::LogEventKind::kMpsOutOfMemory) return;
  // CUDA's own pool holds more than its tensors, and the message does not say how much.
  if (event.wording == log::LogWording::kMallocAsync) return;
  if (account.in_use) {
    if (account.tells_own_bytes()) {
      account.context = std::max<std::int64_t>(0, *account.in_use - account.own_bytes());
    }
    const std::int64_t rest = *account.capacity - *account.free - *account.in_use;
    account.others = rest < kRoundingBytes ? 0 : rest;
    account.alone = *account.others < kMinContextBytes;
    return;
  }
  // Cut off: what is not told may be this process's own.
  if (!account.tells_own_bytes()) return;
  account.is_estimate = true;
  const std::int64_t rest = *account.capacity - *account.free - account.own_bytes();
  const std::int64_t beside = rest - (is_ddp ? kContextWithNcclBytes : kTypicalContextBytes);
  account.others = beside < kRoundingBytes ? 0 : beside;
}

}  // namespace

CardAccount account_of(const log::LogEvent& event, const fit::Card* card, bool is_ddp) {
  CardAccount account;
  account.capacity = log::middle(event.capacity);
  if (!account.capacity && event.kind == log::LogEventKind::kMpsOutOfMemory) {
    account.capacity = log::middle(event.limit);
  }
  account.is_capacity_printed = account.capacity.has_value();
  if (!account.capacity && card != nullptr) account.capacity = card->reported_mib * kMiB;
  account.allocated = log::middle(event.allocated);
  account.unallocated = log::middle(log::unallocated_range(event));
  account.free = log::middle(event.free);
  account.is_windows = shows_windows(event);
  account.in_use = log::middle(event.process_in_use);
  fill_processes(event, account);
  fill_others(event, is_ddp, account);
  if (!account.others && card != nullptr) account.display = fit::display_bytes(*card);
  return account;
}

std::int64_t available_bytes(const CardAccount& account) {
  if (!account.capacity) return 0;
  const std::int64_t alone =
      *account.capacity - account.display - account.context.value_or(kTypicalContextBytes);
  if (!account.free || !account.tells_own_bytes() || others_are_notable(account)) return alone;
  // What a display and the driver hold stays with them.
  const std::int64_t now = account.own_bytes() + *account.free;
  return *account.allocated > *account.capacity ? alone : std::min(alone, now);
}

bool others_are_notable(const CardAccount& account) {
  // A display and a browser hold up to 1 GiB; an estimate errs by a context with NCCL's buffers.
  if (!account.others || !account.capacity) return false;
  const double share = static_cast<double>(*account.others) /
                       static_cast<double>(std::max<std::int64_t>(*account.capacity, 1));
  return *account.others >= kGiB && share >= (account.is_estimate ? 0.15 : 0.12);
}

}  // namespace snug::doctor::diagnosis
