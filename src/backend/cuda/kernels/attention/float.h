// The kernels of attention in float32, one instance per head size.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "backend/cuda/kernels/attention/problem.cuh"

namespace snug::cuda {

template <int kD>
void start_float_forward(const AttentionProblem<float>& problem, std::int64_t B,
                         cudaStream_t stream);
template <int kD>
void start_float_backward(const AttentionProblem<float>& problem, std::int64_t B,
                          cudaStream_t stream);

}  // namespace snug::cuda
