// Token and position embedding forward; the merge of its gradient's table. Backward has a file of
// its own.
#include "backend/cuda/kernels/kernels.h"
#include "backend/cuda/kernels/numbers.cuh"
#include "backend/cuda/kernels/philox.cuh"

namespace snug::cuda {
namespace {

constexpr int kThreads = 256;

template <class T, int kWidth>
__global__ void __launch_bounds__(kThreads)
    embed_kernel(unsigned rows, unsigned T_, std::int64_t C, const std::int32_t* tokens,
                 const T* wte, const T* wpe, T* out, Dropout dropout) {
  const unsigned per_row = static_cast<unsigned>(C) / kWidth;
  const unsigned item = blockIdx.x * kThreads + threadIdx.x;
  if (item >= rows * per_row) return;
  const unsigned row = item / per_row, sequence = row / T_;
  const std::int64_t t = row % T_, c = item % per_row * kWidth;
  float x[kWidth], position[kWidth];
  load_floats(wte + tokens[row] * C + c, x);
  load_floats(wpe + t * C + c, position);
#pragma unroll
  for (int k = 0; k < kWidth; ++k) x[k] += position[k];
  apply_dropout(dropout, sequence, t * C + c, x);
  store_floats(out + row * C + c, x);
}

template <int kWidth>
__global__ void __launch_bounds__(kThreads)
    merge_kernel(std::int64_t C, const float* rows, const std::int32_t* row_token,
                 const std::int32_t* row_count, float* dwte) {
  const unsigned per_row = static_cast<unsigned>(C) / kWidth;
  const unsigned item = blockIdx.x * kThreads + threadIdx.x;
  const int row = static_cast<int>(item / per_row);
  const std::int64_t c = item % per_row * kWidth;
  if (row >= *row_count) return;
  float* out = dwte + row_token[row] * C + c;
  float sum[kWidth], added[kWidth];
  load_floats(out, sum);
  load_floats(rows + row * C + c, added);
#pragma unroll
  for (int k = 0; k < kWidth; ++k) sum[k] += added[k];
  store_floats(out, sum);
}

}  // namespace

void embed(const Embed& op, cudaStream_t stream) {
  with_element(op.dtype, [&](auto zero) {
    using T = decltype(zero);
    const bool aligned = op.C % kPack<T> == 0;
    const std::int64_t rows = op.B * op.T, items = rows * op.C / (aligned ? kPack<T> : 1);
    const T* wpe = static_cast<const T*>(op.wpe) + op.first_position * op.C;
    launch(aligned ? embed_kernel<T, kPack<T>> : embed_kernel<T, 1>,
           static_cast<unsigned>(blocks_for(items, kThreads)), kThreads, 0, stream,
           static_cast<unsigned>(rows), static_cast<unsigned>(op.T), op.C, op.tokens,
           static_cast<const T*>(op.wte), wpe, static_cast<T*>(op.out), op.dropout);
  });
}

void merge_embed_rows(const MergeEmbedRows& op, cudaStream_t stream) {
  const bool aligned = op.C % kPack<float> == 0;
  const std::int64_t items = op.capacity * op.C / (aligned ? kPack<float> : 1);
  launch(aligned ? merge_kernel<kPack<float>> : merge_kernel<1>,
         static_cast<unsigned>(blocks_for(items, kThreads)), kThreads, 0, stream, op.C, op.rows,
         op.row_token, op.row_count, op.dwte);
}

}  // namespace snug::cuda
