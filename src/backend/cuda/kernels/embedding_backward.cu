// The embedding's gradient in a fixed order: slots for new tokens in order of first appearance,
// positions sorted by slot, then each row of the table adds up its tokens one after the other.
#include "backend/cuda/kernels/kernels.h"
#include "backend/cuda/kernels/numbers.cuh"
#include "backend/cuda/kernels/philox.cuh"

namespace snug::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kSortThreads = 512;
constexpr int kDigitBits = 4, kDigits = 1 << kDigitBits;

// While slots are given out, a token without one holds the first position that asks: below -1,
// ordered as positions are.
__device__ __forceinline__ std::int32_t claim_of(std::int64_t position) {
  return static_cast<std::int32_t>(position - 0x80000000ll);
}

// The mask is applied to dx in place.
template <class T, int kWidth>
__global__ void __launch_bounds__(kThreads)
    mask_kernel(std::int64_t length, T* dx, Dropout dropout) {
  const std::int64_t e = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) * kWidth;
  if (e >= length) return;
  float x[kWidth];
  T* at = dx + blockIdx.y * length + e;
  load_floats(at, x);
  apply_dropout(dropout, blockIdx.y, e, x);
  store_floats(at, x);
}

// dwpe[t] += dx of every sequence, in order.
template <class T>
__global__ void __launch_bounds__(kThreads)
    position_kernel(std::int64_t B, std::int64_t length, const T* dx, float* dwpe) {
  const std::int64_t e = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (e >= length) return;
  float sum = dwpe[e];
  for (std::int64_t b = 0; b < B; ++b) sum += to_float(dx[b * length + e]);
  dwpe[e] = sum;
}

// The smallest position wins, whoever comes first: the result does not depend on the order.
__global__ void __launch_bounds__(kThreads)
    claim_kernel(int count, const std::int32_t* tokens, std::int32_t* slot) {
  const int i = static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x);
  if (i >= count) return;
  std::int32_t* of_token = slot + tokens[i];
  if (atomicAdd(of_token, 0) < 0) atomicMin(of_token, claim_of(i));
}

// The sum over the threads before this one, and over all.
struct Scan {
  int before, total;
};
__device__ __forceinline__ Scan block_scan(int value) {
  SNUG_SHARED(int, sums, [kSortThreads / kWarp]);
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  int sum = value;
  for (int distance = 1; distance < kWarp; distance *= 2) {
    const int other = __shfl_up_sync(kAllLanes, sum, distance);
    if (lane >= distance) sum += other;
  }
  __syncthreads();  // the sums of the call before have been read
  if (lane == kWarp - 1) sums[warp] = sum;
  __syncthreads();
  Scan scan{sum - value, 0};
  for (int w = 0; w < kSortThreads / kWarp; ++w) {
    if (w < warp) scan.before += sums[w];
    scan.total += sums[w];
  }
  return scan;
}

// One block: claims become slots, in order of position.
__global__ void __launch_bounds__(kSortThreads)
    slot_kernel(int count, const std::int32_t* tokens, std::int32_t* slot, std::int32_t* row_token,
                std::int32_t* row_count) {
  int used = *row_count;
  for (int begin = 0; begin < count; begin += kSortThreads) {
    const int i = begin + static_cast<int>(threadIdx.x);
    const std::int32_t token = i < count ? tokens[i] : 0;
    const bool is_first = i < count && slot[token] == claim_of(i);
    const Scan scan = block_scan(is_first ? 1 : 0);
    if (is_first) {
      slot[token] = used + scan.before;
      row_token[used + scan.before] = token;
    }
    used += scan.total;
    __syncthreads();  // the next round looks at the slots
  }
  if (threadIdx.x == 0) *row_count = used;
}

// keys[i] is the slot of position i, and order[i] = i.
__global__ void __launch_bounds__(kThreads)
    key_kernel(int count, const std::int32_t* tokens, const std::int32_t* slot, std::int32_t* keys,
               std::int32_t* order) {
  const int i = static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x);
  if (i >= count) return;
  keys[i] = slot[tokens[i]];
  order[i] = i;
}

// One block: a pass of a stable radix sort of positions by a digit of their keys. Each thread has a
// run of neighbouring entries.
__global__ void __launch_bounds__(kSortThreads)
    sort_kernel(int count, const std::int32_t* keys, const std::int32_t* from, std::int32_t* to,
                int shift) {
  SNUG_SHARED(int, places, [kDigits][kSortThreads]);
  const int thread = static_cast<int>(threadIdx.x);
  const int per_thread = (count + kSortThreads - 1) / kSortThreads;
  const int begin = thread * per_thread, end = min(begin + per_thread, count);
  for (int digit = 0; digit < kDigits; ++digit) places[digit][thread] = 0;
  for (int i = begin; i < end; ++i) ++places[keys[from[i]] >> shift & (kDigits - 1)][thread];
  int base = 0;
  for (int digit = 0; digit < kDigits; ++digit) {
    const Scan scan = block_scan(places[digit][thread]);
    places[digit][thread] = base + scan.before;
    base += scan.total;
  }
  for (int i = begin; i < end; ++i) {
    to[places[keys[from[i]] >> shift & (kDigits - 1)][thread]++] = from[i];
  }
}

// The end of the run of equal keys that begins at `first`, by steps that double and then halve: the
// space of a text of characters makes a run of thousands.
__device__ __forceinline__ int end_of_run(int first, int count, const std::int32_t* keys,
                                          const std::int32_t* order) {
  const std::int32_t key = keys[order[first]];
  const auto is_in_run = [&](int i) { return i < count && keys[order[i]] == key; };
  int last = first, step = 1;
  for (; is_in_run(last + step); step *= 2) last += step;
  for (step /= 2; step > 0; step /= 2) {
    if (is_in_run(last + step)) last += step;
  }
  return last + 1;
}

// One block per entry of the sorted list; the first of a run of equal keys adds up the run. Where
// it ends is known before, so that the loads of several entries are under way at once.
template <class T>
__global__ void __launch_bounds__(kThreads)
    row_kernel(int count, std::int64_t C, const std::int32_t* keys, const std::int32_t* order,
               const T* dx, float* rows) {
  const int first = static_cast<int>(blockIdx.x);
  const std::int32_t key = keys[order[first]];
  if (first > 0 && keys[order[first - 1]] == key) return;
  const int end = end_of_run(first, count, keys, order);
  for (std::int64_t c = threadIdx.x; c < C; c += kThreads) {
    float sum = rows[key * C + c];
#pragma unroll 8
    for (int i = first; i < end; ++i) sum += to_float(dx[order[i] * C + c]);
    rows[key * C + c] = sum;
  }
}

template <class T>
void apply_mask(const EmbedBackward& op, cudaStream_t stream) {
  if (op.dropout.threshold == 0) return;
  const std::int64_t length = op.T * op.C;
  const bool aligned = length % kPack<T> == 0;
  const dim3 grid(static_cast<unsigned>(blocks_for(length, kThreads * (aligned ? kPack<T> : 1))),
                  static_cast<unsigned>(op.B));
  launch(aligned ? mask_kernel<T, kPack<T>> : mask_kernel<T, 1>, grid, kThreads, 0, stream, length,
         static_cast<T*>(op.dx), op.dropout);
}

// The sorted positions, in one of the two lists. A key is below `capacity`: no more digits than
// that has are looked at.
const std::int32_t* sort_positions(int count, const std::int32_t* keys, std::int32_t* a,
                                   std::int32_t* b, std::int64_t capacity, cudaStream_t stream) {
  for (int shift = 0; shift == 0 || (capacity - 1) >> shift > 0; shift += kDigitBits) {
    launch(sort_kernel, 1, kSortThreads, 0, stream, count, keys, a, b, shift);
    std::int32_t* other = a;
    a = b;
    b = other;
  }
  return a;
}

}  // namespace

void embed_backward(const EmbedBackward& op, cudaStream_t stream) {
  const int count = static_cast<int>(op.B * op.T);
  const auto blocks = static_cast<unsigned>(blocks_for(count, kThreads));
  std::int32_t *keys = op.scratch, *order = keys + count, *spare = order + count;
  launch(claim_kernel, blocks, kThreads, 0, stream, count, op.tokens, op.slot);
  launch(slot_kernel, 1, kSortThreads, 0, stream, count, op.tokens, op.slot, op.row_token,
         op.row_count);
  launch(key_kernel, blocks, kThreads, 0, stream, count, op.tokens, op.slot, keys, order);
  const std::int32_t* sorted = sort_positions(count, keys, order, spare, op.capacity, stream);
  with_element(op.dtype, [&](auto zero) {
    using T = decltype(zero);
    const T* dx = static_cast<const T*>(op.dx);
    apply_mask<T>(op, stream);
    const std::int64_t length = op.T * op.C;
    launch(position_kernel<T>, static_cast<unsigned>(blocks_for(length, kThreads)), kThreads, 0,
           stream, op.B, length, dx, op.dwpe);
    launch(row_kernel<T>, static_cast<unsigned>(count), kThreads, 0, stream, count, op.C, keys,
           sorted, dx, op.rows);
  });
}

}  // namespace snug::cuda
