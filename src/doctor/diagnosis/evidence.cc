#include "doctor/diagnosis/evidence.h"

#include <algorithm>

#include "doctor/diagnosis/run.h"

namespace snug {
namespace {

// The lower, the nearer to the cause.
int tier_of(const LogEvent& event) {
  constexpr int kBroken = 6;
  if (event.is_corrupt) return kBroken;
  switch (event.kind) {
    case LogEventKind::kCudaOutOfMemory:
    case LogEventKind::kHipOutOfMemory:
    case LogEventKind::kXpuOutOfMemory:
    case LogEventKind::kMpsOutOfMemory:
    case LogEventKind::kVendorOutOfMemory:
    case LogEventKind::kTensorFlow:
    case LogEventKind::kHostAllocator:
      return event.request || event.shape || event.allocated ? 0 : 1;
    // What libraries and the driver say after it follows from it.
    case LogEventKind::kDeviceAssert:
      return 1;
    case LogEventKind::kLlmC:
    case LogEventKind::kDriver:
    case LogEventKind::kCublas:
    case LogEventKind::kCudnn:
      return 2;
    case LogEventKind::kNccl:
      return 3;
    case LogEventKind::kKilledByKernel:
      return 4;
    case LogEventKind::kExit137:
      return 5;
    case LogEventKind::kAllocatorWarning:
      return 7;
    case LogEventKind::kUnspecifiedOutOfMemory:
      return 8;
    case LogEventKind::kTritonResources:
    case LogEventKind::kSharedMemory:
    case LogEventKind::kDiskFull:
      return 9;
    case LogEventKind::kOtherError:
    case LogEventKind::kDtypeUnsupported:
      return 10;
    case LogEventKind::kNotEnoughSms:
    case LogEventKind::kGradScalerDeprecated:
      return 11;
  }
  return 11;
}

// See FailureEvidence::request.
std::optional<LogAmount> sharpened_request(const LogSummary& log, const LogEvent& event) {
  std::optional<LogAmount> range = request_range(event);
  if (!range || event.kind != LogEventKind::kCudaOutOfMemory) return range;
  for (const LogEvent& warning : log.events) {
    if (warning.kind != LogEventKind::kAllocatorWarning || !warning.request) continue;
    const bool is_same = warning.device == event.device &&
                         event.request->low_bytes <= warning.request->high_bytes &&
                         warning.request->low_bytes <= event.request->high_bytes;
    const std::optional<LogAmount> exact = request_range(warning);
    if (is_same && exact &&
        exact->high_bytes - exact->low_bytes < range->high_bytes - range->low_bytes) {
      range = exact;
    }
  }
  return range;
}

}  // namespace

const LogEvent* decisive_event(const LogSummary& log) {
  const auto first = std::min_element(
      log.events.begin(), log.events.end(),
      [](const LogEvent& a, const LogEvent& b) { return tier_of(a) < tier_of(b); });
  return first == log.events.end() ? nullptr : &*first;
}

FailureEvidence evidence_of(const LogSummary& log, const LogEvent& event, const Card* card) {
  return {log, event, sharpened_request(log, event), moment_of(log.facts, event),
          account_of(event, card, shows_ddp(log.facts))};
}

}  // namespace snug
