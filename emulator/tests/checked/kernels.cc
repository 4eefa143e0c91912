#include "checked/kernels.h"

#include "emulator/access.h"
#include "emulator/lane.h"

namespace emulator::kernels {
namespace {

template <typename T>
T& shared(const char& declaration) {
  return *static_cast<T*>(shared_object(&declaration, sizeof(T), 16));
}

}  // namespace

void tree_sum(const float* in, float* out) {
  static const char declared = 0;
  auto& room = shared<float[256]>(declared);
  room[threadIdx.x] = in[threadIdx.x];
  for (unsigned width = 128; width > 0; width /= 2) {
    __syncthreads();
    if (threadIdx.x < width) room[threadIdx.x] += room[threadIdx.x + width];
  }
  if (threadIdx.x == 0) out[0] = room[0];
}

void reverse_warp(const float* in, float* out) {
  static const char declared = 0;
  auto& room = shared<float[32]>(declared);
  room[threadIdx.x] = in[threadIdx.x];
  __syncwarp();
  out[threadIdx.x] = room[31 - threadIdx.x];
}

void staged_copy(const float* in, float* out) {
  static const char declared = 0;
  auto& room = shared<float[128]>(declared);
  copy_async(&room[4 * threadIdx.x], in + 4 * threadIdx.x, 16, 16, Site::current());
  copy_async_commit();
  copy_async_wait(0, Site::current());
  __syncthreads();
  for (unsigned i = threadIdx.x; i < 128; i += 32) out[i] = room[127 - i];
}

void read_behind(const float* in, float* out, int count) {
  if (static_cast<int>(threadIdx.x) <= count) out[threadIdx.x] = in[threadIdx.x];
}

void write_behind(float* out, int count) {
  if (static_cast<int>(threadIdx.x) <= count) out[threadIdx.x] = 1;
}

void shared_behind(float* out) {
  static const char declared = 0;
  auto& room = shared<float[32]>(declared);
  room[threadIdx.x + 1] = 1;
  out[threadIdx.x] = 1;
}

void read_unwritten_shared(float* out) {
  static const char declared = 0;
  auto& room = shared<float[32]>(declared);
  if (threadIdx.x < 31) room[threadIdx.x] = 1;
  out[threadIdx.x] = room[threadIdx.x];
}

void add_without_atomic(int* sum) { *sum += 1; }
void add_with_atomic(int* sum) { atomicAdd(sum, 1); }

void misaligned_wide(const float* in, float* out) { store(out, load<uint4>(in + 1)); }

void columns_of_shared(float* out, int stride) {
  static const char declared = 0;
  auto& room = shared<float[32 * 33]>(declared);
  const int lane = static_cast<int>(threadIdx.x);
  for (int row = 0; row < 32; ++row) room[lane * stride + row] = 1;
  out[lane] = room[lane * stride];
}

void strided_copy(const float* in, float* out, int stride) {
  out[threadIdx.x] = in[static_cast<int>(threadIdx.x) * stride];
}

}  // namespace emulator::kernels
