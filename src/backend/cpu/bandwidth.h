// The memory bandwidth of this machine, as ops that stream through tensors could have it.
#pragma once

namespace snug::cpu {

// Bytes a second of z = x + y over arrays far larger than any cache, on all threads: two reads and
// a write per element, the best of some. Takes 768 MiB for a fraction of a second.
double measure_bandwidth();

}  // namespace snug::cpu
