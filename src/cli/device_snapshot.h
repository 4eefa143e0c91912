// What `snug devices` and `snug watch` show, read at one moment: cards, memory, processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/cuda/cuda_order.h"
#include "backend/cuda/nvml.h"
#include "fit/cards.h"
#include "machine/host_memory.h"
#include "machine/processes.h"

namespace snug::cli {

struct MemoryFacts {
  machine::HostMemory now;         // within all limits
  std::int64_t machine_bytes = 0;  // the machine's own
  std::optional<std::int64_t> cgroup_limit_bytes, ulimit_bytes;

  // What a new process could not take.
  std::int64_t used_bytes() const { return now.total_bytes - now.available_bytes; }
};

struct DeviceSnapshot {
  cuda::CardsReading gpu;
  MemoryFacts memory;
  std::vector<machine::HostProcess> processes;  // the largest by resident memory
};

constexpr std::size_t kLargestProcesses = 5;

// Throws DeviceError when /proc cannot be read.
DeviceSnapshot take_snapshot(const cuda::Nvml& nvml, const cuda::CudaOrder& order);

// The N of --device=cuda:N; "-" for a card that CUDA does not see. Where CUDA does not tell, the
// management library's.
std::string card_number(const cuda::CardReading& card);

// The card that can be planned for under another name: by the driver's name and, where cards of
// one name differ in memory, by the memory. nullptr: not in the list.
const fit::Card* known_card(const cuda::CardReading& card);

// What a run may take of it, about: what is free, less what CUDA will hold. A run asks the card
// itself once its context is made. Nothing where programs get a part of the card only.
std::optional<std::int64_t> usable_bytes(const cuda::CardReading& card);

}  // namespace snug::cli
