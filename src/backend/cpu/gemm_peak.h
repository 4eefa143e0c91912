// The matrix-product rate of this machine, for the MFU that the log shows.
#pragma once

#include "backend/cpu/arena.h"
#include "base/dtype.h"

namespace snug::cpu {

// FLOP/s of square products as linear ops of that precision make them, measured for a fraction of a
// second in bytes that the arena has anyway; its content is lost. 0 when the arena is too small to
// measure in.
double measure_gemm_peak(const Arena& arena, DType precision);

}  // namespace snug::cpu
