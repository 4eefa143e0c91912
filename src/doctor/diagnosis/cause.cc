#include "doctor/diagnosis/cause.h"

#include <algorithm>

#include "base/bytes.h"

namespace snug::doctor::diagnosis {
namespace {

double ratio(std::int64_t part, std::int64_t whole) {
  return static_cast<double>(part) / static_cast<double>(std::max<std::int64_t>(whole, 1));
}

// Of free memory, what CUDA keeps in pieces of its page size.
constexpr std::int64_t kPieces = 2 * kMiB;

bool fits_alone(const torch::TorchMemory& memory, std::int64_t available) {
  return available == 0 || memory.worst().allocated_bytes <= available;
}

// Another process, listed by its number, that holds most of the card.
bool one_other_dominates(const CardAccount& account) {
  return std::any_of(account.other_processes.begin(), account.other_processes.end(),
                     [&](const log::LogProcess& process) {
                       return process.in_use &&
                              log::middle(*process.in_use) > *account.capacity / 2;
                     });
}

CauseVerdict co_tenancy(const log::LogEvent& event, const CardAccount& account,
                        const torch::TorchMemory* memory) {
  const bool over_capacity = account.capacity && account.allocated > account.capacity;
  if (!account.others || !account.capacity || over_capacity) return {};
  const std::int64_t others = *account.others;
  const std::int64_t missing =
      event.request ? event.request->low_bytes - account.free.value_or(0) : 0;
  if (missing <= 0 && event.request) {
    // What is free may be in pieces; it is little because of the other.
    return one_other_dominates(account) ? CauseVerdict{Cause::kCoTenant, 0.85} : CauseVerdict{};
  }
  if (others < missing) return {};
  // This process is small beside what is gone.
  const std::int64_t own = std::max(account.own_bytes(), account.in_use.value_or(0));
  if (others > own && ratio(others, *account.capacity) > 0.25) {
    return {Cause::kCoTenant, 0.95};
  }
  if (!others_are_notable(account) || account.is_windows) return {};
  if (memory != nullptr && !fits_alone(*memory, available_bytes(account))) return {};
  return {Cause::kCoTenant, account.is_estimate ? 0.6 : 0.85};
}

CauseVerdict free_beyond_request(const log::LogEvent& event) {
  if (!event.free || !event.request) return {};
  // A few MiB more than was asked for are in pieces that cannot be given.
  if (event.free->low_bytes < event.request->high_bytes + event.request->high_bytes / 4) return {};
  if (event.free->low_bytes < event.request->high_bytes + kPieces) return {};
  return {Cause::kFreeExceedsRequest, event.limit ? 0.9 : 0.8};
}

// What lies in pieces; of a message that is cut off, what the process held beside its tensors and a
// usual context.
std::optional<std::int64_t> in_pieces(const CardAccount& account) {
  if (account.unallocated || !account.in_use || !account.allocated) return account.unallocated;
  return std::max<std::int64_t>(0, *account.in_use - *account.allocated - kTypicalContextBytes);
}

// All cached blocks that are whole were given back before the message: what is still reserved and
// unused is stuck beside tensors. It is the cause where it would have served the request with
// something left over, is a real share of what PyTorch holds, and the card was not full without it.
CauseVerdict fragmentation(const log::LogEvent& event, const CardAccount& account, TensorHint hint,
                           const torch::TorchMemory* memory) {
  constexpr double kServes = 1.2, kShare = 0.15, kFull = 0.935;
  constexpr double kServesEasily = 2.5, kSmallShare = 0.04, kNearlyFull = 0.965;
  const std::optional<std::int64_t> pieces = in_pieces(account);
  if (!pieces || !event.request || event.has_expandable_segments) return {};
  // Windows lends the host's memory: more is in use than the card has.
  if (account.capacity && account.allocated > account.capacity) return {};
  const std::int64_t request = log::middle(*event.request);
  const double serves = ratio(*pieces, request);
  const std::int64_t own = account.allocated.value_or(0) + *pieces;
  const double share = ratio(*pieces, own);
  const std::int64_t given = own + account.free.value_or(0);
  const double full = ratio(account.allocated.value_or(0) + request, given);
  const bool is_much = serves >= kServes && share >= kShare && full <= kFull;
  const bool is_enough = serves >= kServesEasily && share >= kSmallShare && full <= kNearlyFull;
  // States of a size that fills the card leave such a share by themselves.
  const bool is_of_states = hint == TensorHint::kOptimizer || hint == TensorHint::kWeights;
  if (!is_much && (!is_enough || is_of_states)) return {};
  if (memory != nullptr && !fits_alone(*memory, available_bytes(account))) return {};
  return {Cause::kFragmentation, share >= 0.2 ? 0.85 : 0.7};
}

CauseVerdict capacity(const log::LogEvent& event, const CardAccount& account,
                      const torch::TorchMemory* memory) {
  if (!account.capacity || !account.allocated) {
    return {Cause::kCapacity, event.is_cut && event.request ? 0.5 : 0.75};
  }
  const bool is_proved = memory != nullptr && !fits_alone(*memory, available_bytes(account));
  return {Cause::kCapacity, is_proved ? 0.97 : 0.9};
}

// In the order of the changes that one would try: alone on the card, a smaller model, other
// settings of the allocator.
CauseVerdict verdict_of_trial(const FailureEvidence& evidence, const torch::TorchMemory& memory,
                              const CardTrial& trial) {
  const CardAccount& account = evidence.account;
  const double confidence = trial.is_assumed ? 0.75 : trial.reproduces ? 0.97 : 0.9;
  const std::int64_t others = trial.alone_bytes - trial.given_bytes;
  if (others > 0 && trial.survives_alone) {
    const bool is_vague = account.is_estimate && others <= account.own_bytes();
    return {Cause::kCoTenant, is_vague ? 0.6 : confidence};
  }
  // Where others are an estimate, a few hundred MiB of them are the context.
  const bool may_be_context = account.is_estimate && !others_are_notable(account);
  if (states_exceed(memory, may_be_context ? trial.given_bytes : trial.alone_bytes)) {
    return {Cause::kStatesExceedCard, confidence};
  }
  if (trial.survives_expandable) return {Cause::kFragmentation, confidence};
  // With the largest context the states alone would be too much: the cut message leaves it open.
  constexpr std::int64_t kBlur = (kMaxContextBytes - kMinContextBytes) / 2;
  const bool is_open = trial.is_assumed && states_exceed(memory, trial.given_bytes - kBlur);
  return {Cause::kCapacity, is_open ? 0.5 : confidence};
}

}  // namespace

CauseVerdict verdict_of_kind(const log::LogEvent& event) {
  switch (event.kind) {
    case log::LogEventKind::kAllocatorWarning:
      return {Cause::kUnknown, 0.5};
    case log::LogEventKind::kUnspecifiedOutOfMemory:
      return {Cause::kUnknown, 0.3};
    case log::LogEventKind::kDriver:
      return {Cause::kDriver, 0.9};
    case log::LogEventKind::kCublas:
    case log::LogEventKind::kCudnn:
    case log::LogEventKind::kNccl:
      return {Cause::kLibrary, 0.8};
    default:
      break;
  }
  if (event.is_corrupt) return {Cause::kUnknown, 0.5};
  // TensorFlow has one message for both.
  const bool names_processor = event.text.find("device:CPU") != std::string::npos;
  if (event.kind == log::LogEventKind::kTensorFlow && names_processor)
    return {Cause::kHostMemory, 0.95};
  switch (log::memory_of(event.kind)) {
    case log::LogMemory::kHost:
      return {Cause::kHostMemory, event.kind == log::LogEventKind::kExit137 ? 0.8 : 0.95};
    case log::LogMemory::kNeither:
      return {Cause::kNotMemory, 0.95};
    case log::LogMemory::kUnknown:
      return {Cause::kUnknown, 0.3};
    case log::LogMemory::kCard:
      break;
  }
  return {Cause::kCapacity, 0.7};
}

CauseVerdict verdict_of_card(const FailureEvidence& evidence, const torch::TorchMemory* memory,
                             const CardTrial* trial) {
  const log::LogEvent& event = evidence.event;
  const CardAccount& account = evidence.account;
  if (trial != nullptr && trial->fails && free_beyond_request(event).confidence == 0) {
    return verdict_of_trial(evidence, *memory, *trial);
  }
  if (const CauseVerdict verdict = co_tenancy(event, account, memory); verdict.confidence > 0) {
    return verdict;
  }
  if (const CauseVerdict verdict = free_beyond_request(event); verdict.confidence > 0)
    return verdict;
  // Before fragmentation: no arrangement of the pieces helps either.
  if (memory != nullptr && states_exceed(*memory, available_bytes(account))) {
    return {Cause::kStatesExceedCard, 0.97};
  }
  if (const CauseVerdict verdict = fragmentation(event, account, evidence.moment.hint, memory);
      verdict.confidence > 0) {
    return verdict;
  }
  // Cut off, and the run of the config does not fail so on any part of this card.
  if (trial != nullptr && trial->is_assumed && !trial->fails) return {Cause::kUnknown, 0.4};
  return capacity(event, account, memory);
}

CauseVerdict verdict_of_prediction(const torch::TorchMemory& memory, const fit::Card& card) {
  const std::int64_t card_bytes = fit::process_bytes(card);
  const fit::ContextRange context = fit::cuda_context(card);
  if (states_exceed(memory, card_bytes - context.low_bytes)) {
    return {Cause::kStatesExceedCard, 0.97};
  }
  const std::int64_t minimum = memory.worst().allocated_bytes + context.low_bytes;
  const std::int64_t maximum =
      std::max(memory.worst().reserved_bytes + context.high_bytes, minimum + 1);
  if (minimum > card_bytes) return {Cause::kCapacity, 0.97};
  if (maximum <= card_bytes) return {};
  // Between: it depends on fragmentation and on the context.
  return {Cause::kCapacity, 0.2 + 0.6 * ratio(maximum - card_bytes, maximum - minimum)};
}

std::int64_t states_bytes(const torch::TorchMemory& memory) {
  return memory.params_bytes + memory.gradient_bytes + memory.optimizer_bytes;
}

std::int64_t standing_bytes(const torch::TorchMemory& memory) {
  std::int64_t standing = states_bytes(memory);
  if (memory.run.resumed) standing += memory.params_bytes;
  if (memory.run.ddp) standing += memory.params_bytes;
  return standing;
}

bool states_exceed(const torch::TorchMemory& memory, std::int64_t available) {
  return available > 0 && standing_bytes(memory) > available;
}

}  // namespace snug::doctor::diagnosis
