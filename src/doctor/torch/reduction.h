// The scratch of PyTorch's reductions over the outer dimension (ATen/native/cuda/Reduce.cuh).
#pragma once

#include <cstdint>

namespace snug {

struct TorchReduction {
  std::int64_t buffer_bytes = 0;  // partial sums between thread blocks; 0: none needed
  std::int64_t semaphore_bytes = 0;
};

// A sum of `rows` rows into one of `columns` values, accumulated in fp32.
TorchReduction torch_column_sum(std::int64_t rows, std::int64_t columns,
                                std::int64_t multiprocessors);

}  // namespace snug
