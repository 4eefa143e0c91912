// Kernels that work element by element: GELU, the residual addition, dropout's gradient, casts, a
// bias in every row.
#include <algorithm>

#include "backend/cuda/kernels/numbers.cuh"
#include "backend/cuda/kernels/philox.cuh"

namespace snug::cuda {
namespace {

constexpr int kThreads = 256;

// Where a thread's elements begin; the grid's second dimension counts sequences.
struct Place {
  std::int64_t in_sequence, in_batch;
};
template <int kWidth>
__device__ __forceinline__ Place place_of(std::int64_t length) {
  const std::int64_t first =
      (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) * kWidth;
  return {first, blockIdx.y * length + first};
}

constexpr float kInvSqrt2 = 0.70710678118654752f, kInvSqrt2Pi = 0.39894228040143268f;
constexpr float kTanhScale = 0.79788456080286536f, kTanhCubic = 0.044715f;  // sqrt(2 / pi)

__device__ __forceinline__ float gelu_of(float x, GeluForm form) {
  if (form == GeluForm::kErf) return 0.5f * x * erfcf(-x * kInvSqrt2);
  return 0.5f * x * (1.0f + tanhf(kTanhScale * (x + kTanhCubic * x * x * x)));
}

__device__ __forceinline__ float gelu_slope(float x, GeluForm form) {
  if (form == GeluForm::kErf) {
    return 0.5f * erfcf(-x * kInvSqrt2) + x * kInvSqrt2Pi * expf(-0.5f * x * x);
  }
  const float t = tanhf(kTanhScale * (x + kTanhCubic * x * x * x));
  const float inner = kTanhScale * (1.0f + 3.0f * kTanhCubic * x * x);
  return 0.5f * (1.0f + t) + 0.5f * x * (1.0f - t * t) * inner;
}

template <class T, int kWidth>
__global__ void __launch_bounds__(kThreads)
    gelu_kernel(std::int64_t count, GeluForm form, const T* x, T* y) {
  const std::int64_t i = place_of<kWidth>(count).in_sequence;
  if (i >= count) return;
  float value[kWidth];
  load_floats(x + i, value);
#pragma unroll
  for (float& v : value) v = gelu_of(v, form);
  store_floats(y + i, value);
}

template <class T, int kWidth>
__global__ void __launch_bounds__(kThreads)
    gelu_backward_kernel(std::int64_t count, GeluForm form, const T* x, T* dy) {
  const std::int64_t i = place_of<kWidth>(count).in_sequence;
  if (i >= count) return;
  float value[kWidth], gradient[kWidth];
  load_floats(x + i, value);
  load_floats(dy + i, gradient);
#pragma unroll
  for (int k = 0; k < kWidth; ++k) gradient[k] *= gelu_slope(value[k], form);
  store_floats(dy + i, gradient);
}

template <class T, int kWidth>
__global__ void __launch_bounds__(kThreads)
    residual_add_kernel(std::int64_t length, const T* residual, const T* branch, T* out,
                        Dropout dropout) {
  const Place at = place_of<kWidth>(length);
  if (at.in_sequence >= length) return;
  float value[kWidth], added[kWidth];
  load_floats(residual + at.in_batch, value);
  load_floats(branch + at.in_batch, added);
  apply_dropout(dropout, blockIdx.y, at.in_sequence, added);
#pragma unroll
  for (int k = 0; k < kWidth; ++k) value[k] += added[k];
  store_floats(out + at.in_batch, value);
}

template <class T, int kWidth>
__global__ void __launch_bounds__(kThreads)
    dropout_backward_kernel(std::int64_t length, const T* dout, T* din, Dropout dropout) {
  const Place at = place_of<kWidth>(length);
  if (at.in_sequence >= length) return;
  float value[kWidth];
  load_floats(dout + at.in_batch, value);
  apply_dropout(dropout, blockIdx.y, at.in_sequence, value);
  store_floats(din + at.in_batch, value);
}

template <class T, int kWidth>
__global__ void __launch_bounds__(kThreads) cast_kernel(std::int64_t count, const float* x, T* y) {
  const std::int64_t i = place_of<kWidth>(count).in_sequence;
  if (i >= count) return;
  float value[kWidth];
  load_floats(x + i, value);
  store_floats(y + i, value);
}

// The grid's second dimension counts rows, in turns where there are more than it holds.
template <class T, int kWidth>
__global__ void __launch_bounds__(kThreads)
    spread_bias_kernel(std::int64_t length, std::int64_t rows, const float* bias, T* y) {
  const std::int64_t i = place_of<kWidth>(length).in_sequence;
  if (i >= length) return;
  float value[kWidth];
  load_floats(bias + i, value);
  for (std::int64_t row = blockIdx.y; row < rows; row += gridDim.y) {
    store_floats(y + row * length + i, value);
  }
}

template <class T>
T* as(void* p) {
  return static_cast<T*>(p);
}
template <class T>
const T* as(const void* p) {
  return static_cast<const T*>(p);
}

dim3 grid_of(std::int64_t length, int width, std::int64_t sequences = 1) {
  return {static_cast<unsigned>(blocks_for(length, kThreads * width)),
          static_cast<unsigned>(sequences)};
}

// Starts the vectorised kernel where sequences of that length keep 128-bit accesses aligned, else
// the one that goes element by element.
template <class T, class Vector, class Scalar, class... Arguments>
void launch_over(Vector vectorised, Scalar scalar, std::int64_t length, std::int64_t sequences,
                 cudaStream_t stream, Arguments... arguments) {
  if (length % kPack<T> == 0) {
    launch(vectorised, grid_of(length, kPack<T>, sequences), kThreads, 0, stream, length,
           arguments...);
  } else {
    launch(scalar, grid_of(length, 1, sequences), kThreads, 0, stream, length, arguments...);
  }
}

// Without dropout a batch is one long sequence.
struct Extent {
  std::int64_t length, sequences;
};
Extent extent_of(std::int64_t B, std::int64_t T, std::int64_t C, const Dropout& dropout) {
  return dropout.threshold == 0 ? Extent{B * T * C, 1} : Extent{T * C, B};
}

}  // namespace

void gelu(const Gelu& op, cudaStream_t stream) {
  with_element(op.dtype, [&](auto zero) {
    using T = decltype(zero);
    launch_over<T>(gelu_kernel<T, kPack<T>>, gelu_kernel<T, 1>, op.count, 1, stream, op.form,
                   as<T>(op.x), as<T>(op.y));
  });
}

void gelu_backward(const GeluBackward& op, cudaStream_t stream) {
  with_element(op.dtype, [&](auto zero) {
    using T = decltype(zero);
    launch_over<T>(gelu_backward_kernel<T, kPack<T>>, gelu_backward_kernel<T, 1>, op.count, 1,
                   stream, op.form, as<T>(op.x), as<T>(op.dy));
  });
}

void residual_add(const ResidualAdd& op, cudaStream_t stream) {
  const Extent extent = extent_of(op.B, op.T, op.C, op.dropout);
  with_element(op.dtype, [&](auto zero) {
    using T = decltype(zero);
    launch_over<T>(residual_add_kernel<T, kPack<T>>, residual_add_kernel<T, 1>, extent.length,
                   extent.sequences, stream, as<T>(op.residual), as<T>(op.branch), as<T>(op.out),
                   op.dropout);
  });
}

void dropout_backward(const DropoutBackward& op, cudaStream_t stream) {
  const Extent extent = extent_of(op.B, op.T, op.C, op.dropout);
  with_element(op.dtype, [&](auto zero) {
    using T = decltype(zero);
    launch_over<T>(dropout_backward_kernel<T, kPack<T>>, dropout_backward_kernel<T, 1>,
                   extent.length, extent.sequences, stream, as<T>(op.dout), as<T>(op.din),
                   op.dropout);
  });
}

void spread_bias(const SpreadBias& op, cudaStream_t stream) {
  constexpr std::int64_t kRowsAtOnce = 1024;
  with_element(op.dtype, [&](auto zero) {
    using T = decltype(zero);
    launch_over<T>(spread_bias_kernel<T, kPack<T>>, spread_bias_kernel<T, 1>, op.N,
                   std::min(op.rows, kRowsAtOnce), stream, op.rows, op.bias, as<T>(op.y));
  });
}

void cast(DType to, const float* x, void* y, std::int64_t count, cudaStream_t stream) {
  with_element(to, [&](auto zero) {
    using T = decltype(zero);
    launch_over<T>(cast_kernel<T, kPack<T>>, cast_kernel<T, 1>, count, 1, stream, x, as<T>(y));
  });
}

}  // namespace snug::cuda
