#include "doctor/diagnosis/evidence.h"

#include <algorithm>
#include <utility>

#include "doctor/diagnosis/run.h"

namespace snug::doctor::diagnosis {
namespace {

// The lower, the nearer to the cause.
int tier_of(const log::LogEvent& event) {
  constexpr int kBroken = 6;
  if (event.is_corrupt) return kBroken;
  switch (event.kind) {
    case log::LogEventKind::kCudaOutOfMemory:
    case log::LogEventKind::kHipOutOfMemory:
    case log::LogEventKind::kXpuOutOfMemory:
    case log::LogEventKind::kMpsOutOfMemory:
    case log::LogEventKind::kVendorOutOfMemory:
    case log::LogEventKind::kTensorFlow:
    case log::LogEventKind::kHostAllocator:
      return event.request || event.shape || event.allocated ? 0 : 1;
    // What libraries and the driver say after it follows from it.
    case log::LogEventKind::kDeviceAssert:
      return 1;
    case log::LogEventKind::kLlmC:
    case log::LogEventKind::kVllmCache:
    case log::LogEventKind::kDriver:
    case log::LogEventKind::kCublas:
    case log::LogEventKind::kCudnn:
      return 2;
    case log::LogEventKind::kNccl:
      return 3;
    case log::LogEventKind::kKilledByKernel:
      return 4;
    case log::LogEventKind::kExit137:
      return 5;
    case log::LogEventKind::kAllocatorWarning:
      return 7;
    case log::LogEventKind::kUnspecifiedOutOfMemory:
      return 8;
    case log::LogEventKind::kTritonResources:
    case log::LogEventKind::kSharedMemory:
    case log::LogEventKind::kDiskFull:
    case log::LogEventKind::kBitsandbytes:
      return 9;
    case log::LogEventKind::kOtherError:
    case log::LogEventKind::kDtypeUnsupported:
      return 10;
    case log::LogEventKind::kNotEnoughSms:
    case log::LogEventKind::kMatmulPrecision:
    case log::LogEventKind::kGradScalerDeprecated:
      return 11;
  }
  return 11;
}

// See FailureEvidence::request.
std::optional<log::LogAmount> sharpened_request(const log::LogSummary& log,
                                                const log::LogEvent& event) {
  std::optional<log::LogAmount> range = log::request_range(event);
  if (!range || event.kind != log::LogEventKind::kCudaOutOfMemory) return range;
  for (const log::LogEvent& warning : log.events) {
    if (warning.kind != log::LogEventKind::kAllocatorWarning || !warning.request) continue;
    const bool is_same = warning.device == event.device &&
                         event.request->low_bytes <= warning.request->high_bytes &&
                         warning.request->low_bytes <= event.request->high_bytes;
    const std::optional<log::LogAmount> exact = log::request_range(warning);
    if (is_same && exact &&
        exact->high_bytes - exact->low_bytes < range->high_bytes - range->low_bytes) {
      range = exact;
    }
  }
  return range;
}

}  // namespace

const log::LogEvent* decisive_event(const log::LogSummary& log) {
  // Where processes write at once, a message may be cut by its neighbour's: the whole one counts.
  const auto rank_of = [](const log::LogEvent& event) {
    return std::pair(tier_of(event), event.is_cut);
  };
  const auto first = std::min_element(
      log.events.begin(), log.events.end(),
      [&](const log::LogEvent& a, const log::LogEvent& b) { return rank_of(a) < rank_of(b); });
  return first == log.events.end() ? nullptr : &*first;
}

FailureEvidence evidence_of(const log::LogSummary& log, const log::LogEvent& event,
                            const fit::Card* card) {
  return {log, event, sharpened_request(log, event), moment_of(log.facts, event),
          account_of(event, card, shows_ddp(log.facts))};
}

}  // namespace snug::doctor::diagnosis
