// The second half of a sum over rows: the partial sums of up to kReductionBlocks thread blocks are
// added up in order, and then to what is there.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace snug::cuda {

// out[c] += partial[0][c] + partial[1][c] + ... for c < width; rows of `partial` are `stride` long.
void add_partial_sums(const float* partial, int count, std::int64_t stride, std::int64_t width,
                      float* out, cudaStream_t stream);

}  // namespace snug::cuda
