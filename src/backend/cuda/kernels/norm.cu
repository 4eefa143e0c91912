// Layer normalisation forward, alone or together with the residual addition before it: one warp per
// row, the row held in registers, so that it is read once.
#include "backend/cuda/kernels/numbers.cuh"
#include "backend/cuda/kernels/philox.cuh"

namespace snug::cuda {
namespace {

constexpr int kRowsPerBlock = 4;
constexpr float kEpsilon = 1e-5f;

template <class T>
struct NormArguments {
  int rows, T_;
  std::int64_t C;
  const T* x;
  const float *gamma, *beta;
  T* y;
  float *mean, *rstd;
  const T *residual, *branch;
  T* sum;
  Dropout dropout;
};

// kWidth elements of a row, from column c on, as floats: x itself, or residual + dropout(branch),
// rounded as it is stored.
template <class T, int kWidth, bool kResidual>
__device__ __forceinline__ void load_x(const NormArguments<T>& op, int row, std::int64_t c,
                                       float (&x)[kWidth]) {
  const std::int64_t at = row * op.C + c;
  if constexpr (kResidual) {
    float branch[kWidth];
    load_floats(op.residual + at, x);
    load_floats(op.branch + at, branch);
    const int sequence = row / op.T_;
    apply_dropout(op.dropout, static_cast<unsigned>(sequence), (row - sequence * op.T_) * op.C + c,
                  branch);
#pragma unroll
    for (int k = 0; k < kWidth; ++k) x[k] = rounded<T>(x[k] + branch[k]);
    store_floats(op.sum + at, x);
  } else {
    load_floats(op.x + at, x);
  }
}

template <class T, int kWidth>
__device__ __forceinline__ void store_y(const NormArguments<T>& op, int row, std::int64_t c,
                                        float mean, float rstd, const float (&x)[kWidth]) {
  float gamma[kWidth], beta[kWidth], y[kWidth];
  load_floats(op.gamma + c, gamma);
  if (op.beta != nullptr) load_floats(op.beta + c, beta);
#pragma unroll
  for (int k = 0; k < kWidth; ++k) {
    y[k] = (x[k] - mean) * rstd * gamma[k] + (op.beta != nullptr ? beta[k] : 0.0f);
  }
  store_floats(op.y + row * op.C + c, y);
}

template <int kWidth>
__device__ __forceinline__ float squares_around(float mean, const float (&x)[kWidth]) {
  float sum = 0;
#pragma unroll
  for (const float value : x) sum += (value - mean) * (value - mean);
  return sum;
}

template <int kWidth>
__device__ __forceinline__ float sum_of(const float (&x)[kWidth]) {
  float sum = 0;
#pragma unroll
  for (const float value : x) sum += value;
  return sum;
}

// Rows of at most kHeld * 32 * kWidth columns, all of them in registers.
template <class T, int kWidth, int kHeld, bool kResidual>
__global__ void __launch_bounds__(kRowsPerBlock* kWarp, 1) norm_held_kernel(NormArguments<T> op) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int row = static_cast<int>(blockIdx.x * kRowsPerBlock + threadIdx.x / kWarp);
  if (row >= op.rows) return;
  float x[kHeld][kWidth];
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kHeld; ++i) {
    const std::int64_t c = (i * kWarp + lane) * kWidth;
    if (c >= op.C) continue;
    load_x<T, kWidth, kResidual>(op, row, c, x[i]);
    sum += sum_of(x[i]);
  }
  const float width = static_cast<float>(op.C);
  const float mean = warp_sum(sum) / width;
  float squares = 0;
#pragma unroll
  for (int i = 0; i < kHeld; ++i) {
    if ((i * kWarp + lane) * kWidth < op.C) squares += squares_around(mean, x[i]);
  }
  const float rstd = 1.0f / sqrtf(warp_sum(squares) / width + kEpsilon);
#pragma unroll
  for (int i = 0; i < kHeld; ++i) {
    const std::int64_t c = (i * kWarp + lane) * kWidth;
    if (c < op.C) store_y(op, row, c, mean, rstd, x[i]);
  }
  if (lane == 0) {
    op.mean[row] = mean;
    op.rstd[row] = rstd;
  }
}

// Rows of any width: read again for each of the three passes. Eight blocks at a time leave 64
// registers a thread; by its own choice of 40 ptxas spills on sm_120.
template <class T, int kWidth, bool kResidual>
__global__ void __launch_bounds__(kRowsPerBlock* kWarp, 8) norm_kernel(NormArguments<T> op) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int row = static_cast<int>(blockIdx.x * kRowsPerBlock + threadIdx.x / kWarp);
  if (row >= op.rows) return;
  const T* stored = kResidual ? op.sum : op.x;
  float x[kWidth];
  float sum = 0, squares = 0;
  for (std::int64_t c = lane * kWidth; c < op.C; c += kWarp * kWidth) {
    load_x<T, kWidth, kResidual>(op, row, c, x);
    sum += sum_of(x);
  }
  const float width = static_cast<float>(op.C);
  const float mean = warp_sum(sum) / width;
  for (std::int64_t c = lane * kWidth; c < op.C; c += kWarp * kWidth) {
    load_floats(stored + row * op.C + c, x);
    squares += squares_around(mean, x);
  }
  const float rstd = 1.0f / sqrtf(warp_sum(squares) / width + kEpsilon);
  for (std::int64_t c = lane * kWidth; c < op.C; c += kWarp * kWidth) {
    load_floats(stored + row * op.C + c, x);
    store_y(op, row, c, mean, rstd, x);
  }
  if (lane == 0) {
    op.mean[row] = mean;
    op.rstd[row] = rstd;
  }
}

template <class T, int kWidth>
__global__ void __launch_bounds__(kRowsPerBlock* kWarp) norm_apply_kernel(NormArguments<T> op) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int row = static_cast<int>(blockIdx.x * kRowsPerBlock + threadIdx.x / kWarp);
  if (row >= op.rows) return;
  const float mean = op.mean[row], rstd = op.rstd[row];
  for (std::int64_t c = lane * kWidth; c < op.C; c += kWarp * kWidth) {
    float x[kWidth];
    load_floats(op.x + row * op.C + c, x);
    store_y(op, row, c, mean, rstd, x);
  }
}

template <class T>
NormArguments<T> arguments_of(const LayerNorm& op) {
  return {static_cast<int>(op.B * op.T),
          static_cast<int>(op.T),
          op.C,
          static_cast<const T*>(op.x),
          op.gamma,
          op.beta,
          static_cast<T*>(op.y),
          op.mean,
          op.rstd,
          static_cast<const T*>(op.residual),
          static_cast<const T*>(op.branch),
          static_cast<T*>(op.sum),
          op.dropout};
}

template <class T, bool kResidual>
void launch_norm(const LayerNorm& op, cudaStream_t stream) {
  constexpr int kWidth = kPack<T>, kColumns = kWarp * kWidth;
  const NormArguments<T> arguments = arguments_of<T>(op);
  const auto start = [&](auto kernel) {
    launch(kernel, static_cast<unsigned>(blocks_for(op.B * op.T, kRowsPerBlock)),
           kRowsPerBlock * kWarp, 0, stream, arguments);
  };
  if (op.C % kWidth != 0) return start(norm_kernel<T, 1, kResidual>);
  if (op.C <= kColumns) return start(norm_held_kernel<T, kWidth, 1, kResidual>);
  if (op.C <= 4 * kColumns) return start(norm_held_kernel<T, kWidth, 4, kResidual>);
  if (op.C <= 8 * kColumns) return start(norm_held_kernel<T, kWidth, 8, kResidual>);
  start(norm_kernel<T, kWidth, kResidual>);
}

}  // namespace

void layernorm(const LayerNorm& op, cudaStream_t stream) {
  with_element(op.dtype, [&](auto zero) {
    using T = decltype(zero);
    op.branch != nullptr ? launch_norm<T, true>(op, stream) : launch_norm<T, false>(op, stream);
  });
}

void layernorm_apply(const LayerNorm& op, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>(blocks_for(op.B * op.T, kRowsPerBlock));
  with_element(op.dtype, [&](auto zero) {
    using T = decltype(zero);
    const bool aligned = op.C % kPack<T> == 0;
    launch(aligned ? norm_apply_kernel<T, kPack<T>> : norm_apply_kernel<T, 1>, blocks,
           kRowsPerBlock * kWarp, 0, stream, arguments_of<T>(op));
  });
}

}  // namespace snug::cuda
