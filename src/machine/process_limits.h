// What the system's limits on this process leave it, asked before a library finds out by crashing:
// oneDNN does not survive a refused mapping, and OpenMP's runtime ends the process when a thread
// cannot be started.
#pragma once

#include <cstdint>

namespace snug::machine {

// Throws CapacityError when the limit on address space (ulimit -v) leaves this process less than
// `needed_bytes` beyond what it has mapped.
void require_address_space(std::int64_t needed_bytes);

// Throws DeviceError unless `count` threads, this one included, can exist at once. Starts them and
// waits for their end, which takes less than a millisecond each.
void require_threads(int count);

}  // namespace snug::machine
