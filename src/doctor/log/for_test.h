// How the log reader's tests write what they expect: an event as one line of text.
#pragma once

#include <fmt/format.h>

#include <array>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "doctor/log/reader.h"

namespace snug::doctor::log {

inline LogSummary read_text(std::string_view text) {
  std::istringstream stream{std::string(text)};
  return read_log(stream);
}

// The middle of the range, which is what was printed; "?" when nothing was.
inline std::string to_text(const std::optional<LogAmount>& amount) {
  if (!amount) return "?";
  return format_bytes(amount->low_bytes + (amount->high_bytes - amount->low_bytes) / 2);
}

inline std::string_view name_of(LogEventKind kind) noexcept {
  constexpr std::array<std::string_view, kLogEventKindCount> kNames{
      "cuda out of memory",
      "hip out of memory",
      "xpu out of memory",
      "mps out of memory",
      "vendor out of memory",
      "allocator warning",
      "driver out of memory",
      "cublas",
      "cudnn",
      "nccl out of memory",
      "tensorflow out of memory",
      "llm.c out of memory",
      "vllm cache",
      "unspecified out of memory",
      "host allocator",
      "killed by the kernel",
      "exit 137",
      "triton resources",
      "shared memory",
      "disk full",
      "bitsandbytes",
      "not enough SMs",
      "matmul precision",
      "GradScaler deprecated",
      "dtype unsupported",
      "device assert",
      "other error",
  };
  return kNames[static_cast<std::size_t>(kind)];
}

// "cuda out of memory; request 394.00 MiB; free 8.68 GiB; device 0": only what the event has.
inline std::string to_text(const LogEvent& event) {
  std::string out(name_of(event.kind));
  const auto add = [&out](std::string_view name, const std::optional<LogAmount>& amount) {
    if (amount) out += fmt::format("; {} {}", name, to_text(amount));
  };
  add("request", event.request);
  add("capacity", event.capacity);
  add("allocated", event.allocated);
  add("reserved", event.reserved);
  add("unallocated", event.unallocated);
  add("free", event.free);
  add("limit", event.limit);
  add("in use", event.process_in_use);
  for (const LogProcess& process : event.processes) {
    out += fmt::format("; process {} {}", process.pid, to_text(process.in_use));
  }
  if (event.device) out += fmt::format("; device {}", *event.device);
  if (event.shape) {
    out += "; shape";
    char mark = ' ';
    for (const std::int64_t dim : event.shape->dims)
      out += fmt::format("{}{}", std::exchange(mark, 'x'), dim);
    out += fmt::format(" {}", event.shape->dtype);
  }
  if (!event.detail.empty()) out += fmt::format("; detail {}", event.detail);
  if (event.is_corrupt) out += "; corrupt";
  if (event.is_cut) out += "; cut";
  return out;
}

// All events of a text, one a line.
inline std::string events_in(std::string_view text) {
  std::string out;
  for (const LogEvent& event : read_text(text).events) {
    if (!out.empty()) out += '\n';
    out += to_text(event);
  }
  return out;
}

}  // namespace snug::doctor::log
