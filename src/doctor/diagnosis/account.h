// Where a card's bytes were when an allocation failed, from what the message prints.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "doctor/log/summary.h"
#include "fit/cards.h"

namespace snug::doctor::diagnosis {

// CUDA's context with its kernels: 0.13 to 0.55 GiB in real messages.
inline constexpr std::int64_t kTypicalContextBytes = 400 * kMiB, kMinContextBytes = 128 * kMiB,
                              kMaxContextBytes = 563 * kMiB;

struct CardAccount {
  std::optional<std::int64_t> capacity, allocated, unallocated, free;
  bool is_capacity_printed = false;  // else it is the named card's
  std::int64_t display = 0;          // of the named card, where the message does not tell `others`
  std::optional<std::int64_t> in_use;   // by this process, context included
  std::optional<std::int64_t> context;  // of this process beside PyTorch
  std::optional<std::int64_t> others;   // of other processes; 0 for what is only rounding
  std::vector<log::LogProcess> other_processes;
  std::optional<std::int64_t> self_pid;  // this process, where the message lists it by its number
  int idle_context_count = 0;            // others that hold a bare context
  bool alone = false;                    // others cannot hold even a context
  bool is_windows = false;               // signs of WDDM: what is missing is not another process
  bool is_estimate = false;              // `others` rests on a typical context

  // What PyTorch held; a message that is cut off may lack either part.
  std::int64_t own_bytes() const { return allocated.value_or(0) + unallocated.value_or(0); }
  bool tells_own_bytes() const { return allocated && unallocated; }
};

// `card` may be null; it gives the capacity where the message does not. With several processes
// NCCL's buffers are part of each one's context.
CardAccount account_of(const log::LogEvent& event, const fit::Card* card, bool is_ddp);

// What PyTorch could have of the card if nobody else were there; 0: not known.
std::int64_t available_bytes(const CardAccount& account);

// Do others hold enough for the failure to be theirs? Not whether it is.
bool others_are_notable(const CardAccount& account);

}  // namespace snug::doctor::diagnosis
