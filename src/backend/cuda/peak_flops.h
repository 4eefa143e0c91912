// The rate of large products, measured.
#pragma once

#include "backend/cuda/resources.h"
#include "program/program.h"

namespace snug::cuda {

// FLOP/s of square products in the precision of the program's matrices (float32 by TF32 where
// `tf32`), in the arena's bytes, whose content is lost. 0 where the card's clock tells nothing.
double measure_peak_flops(const CudaArena& arena, const program::Program& program, bool tf32,
                          cudaStream_t stream);

}  // namespace snug::cuda
