// The memory bandwidth of this machine, as ops that stream through tensors could have it.
#pragma once

#include "backend/cpu/arena.h"

namespace snug::cpu {

// Bytes a second of z = x + y over arrays far larger than any cache, on all threads: two reads and
// a streaming write per element, as in STREAM's "add", the best of some. In the arena of a run,
// whose content is lost; where that is too small, in 700 MiB beside it for a fraction of a second.
double measure_bandwidth(const Arena& of_run);

}  // namespace snug::cpu
