// The kernels of attention: on tensor cores one instance per element type, head size and card
// family, in float32 one per head size.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "backend/cuda/kernels/attention/problem.cuh"

namespace snug::cuda {

// kHalves: products of 16 x 8 x 8, for cards before sm_80, in float16 only.
template <class T, int kD, bool kHalves>
void start_forward(const AttentionProblem<T>& problem, std::int64_t B, cudaStream_t stream);
template <class T, int kD, bool kHalves>
void start_query_backward(const AttentionProblem<T>& problem, std::int64_t B, cudaStream_t stream);
template <class T, int kD, bool kHalves>
void start_key_backward(const AttentionProblem<T>& problem, std::int64_t B, cudaStream_t stream);

template <int kD>
void start_float_forward(const AttentionProblem<float>& problem, std::int64_t B,
                         cudaStream_t stream);
template <int kD>
void start_float_backward(const AttentionProblem<float>& problem, std::int64_t B,
                          cudaStream_t stream);

// Instantiates one of the first three for everything that attention.cu asks for.
#define SNUG_FOR_EACH_ATTENTION_OF(function, T, halves)                                          \
  template void function<T, 32, halves>(const AttentionProblem<T>&, std::int64_t, cudaStream_t); \
  template void function<T, 64, halves>(const AttentionProblem<T>&, std::int64_t, cudaStream_t); \
  template void function<T, 128, halves>(const AttentionProblem<T>&, std::int64_t, cudaStream_t);
#define SNUG_FOR_EACH_ATTENTION(function)                    \
  SNUG_FOR_EACH_ATTENTION_OF(function, __nv_bfloat16, false) \
  SNUG_FOR_EACH_ATTENTION_OF(function, __half, false)        \
  SNUG_FOR_EACH_ATTENTION_OF(function, __half, true)

}  // namespace snug::cuda
