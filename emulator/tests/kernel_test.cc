// What kernels can do: threads, barriers, shuffles, shared memory, asynchronous copies, tensor
// cores; and what they must not.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "emulator/card.h"
#include "emulator/card_launch.h"
#include "emulator/faults.h"
#include "emulator/tensor_core.h"

namespace {

template <typename T>
T& shared(const char& declaration) {
  return *static_cast<T*>(emulator::shared_object(&declaration, sizeof(T), 16));
}

// Faults are wanted here: they are taken, not printed.
class Kernel : public testing::TestWithParam<emulator::LaneOrder> {
 protected:
  Kernel() {
    emulator::insert_card(emulator::card_by_name("rtx3060"));
    emulator::print_faults(false);
    emulator::set_lane_order(GetParam(), 7);
  }
  ~Kernel() override {
    emulator::print_faults(true);
    emulator::set_lane_order(emulator::LaneOrder::kUp);
    emulator::take_faults();
  }

  emulator::Fault only_fault() {
    EXPECT_EQ(cudaGetLastError(), cudaErrorLaunchFailure);
    const auto faults = emulator::take_faults();
    EXPECT_EQ(faults.size(), 1u);
    return faults.empty() ? emulator::Fault{} : faults.front();
  }
};

INSTANTIATE_TEST_SUITE_P(Orders, Kernel,
                         testing::Values(emulator::LaneOrder::kUp, emulator::LaneOrder::kDown,
                                         emulator::LaneOrder::kShuffled));

void number_threads(unsigned* out) {
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  out[block * blockDim.x * blockDim.y * blockDim.z + thread] = block * 1000 + thread;
}

TEST_P(Kernel, EveryThreadOfEveryBlockRunsOnce) {
  const dim3 grid(3, 2, 2), block(4, 3, 5);
  std::vector<unsigned> out(12 * 60);
  emulator::launch(number_threads, {grid, block}, nullptr, out.data());
  ASSERT_EQ(cudaGetLastError(), cudaSuccess);
  for (unsigned i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], i / 60 * 1000 + i % 60);
}

void sum_block(const float* in, float* out) {
  static const char declared = 0;
  auto& room = shared<float[256]>(declared);
  room[threadIdx.x] = in[blockIdx.x * 256 + threadIdx.x];
  for (unsigned width = 128; width > 0; width /= 2) {
    __syncthreads();
    if (threadIdx.x < width) room[threadIdx.x] += room[threadIdx.x + width];
  }
  if (threadIdx.x == 0) out[blockIdx.x] = room[0];
}

TEST_P(Kernel, BarriersOrderSharedMemory) {
  std::vector<float> in(8 * 256), out(8);
  std::iota(in.begin(), in.end(), 0.0f);
  emulator::launch(sum_block, {8, 256}, nullptr, in.data(), out.data());
  for (int b = 0; b < 8; ++b) EXPECT_EQ(out[b], 256.0f * (256 * b) + 255 * 128);
}

void shuffles(int* out) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  int value = lane;
  for (int flip = 16; flip > 0; flip /= 2) value += __shfl_xor_sync(~0U, value, flip);
  out[threadIdx.x * 6] = value;
  out[threadIdx.x * 6 + 1] = __shfl_up_sync(~0U, lane, 3);
  out[threadIdx.x * 6 + 2] = __shfl_down_sync(~0U, lane, 2, 8);
  out[threadIdx.x * 6 + 3] = __shfl_sync(~0U, lane, 5, 16);
  out[threadIdx.x * 6 + 4] = static_cast<int>(__ballot_sync(~0U, lane % 3 == 0));
  out[threadIdx.x * 6 + 5] = __syncthreads_count(lane < 5);
}

TEST_P(Kernel, ShufflesAndVotes) {
  std::vector<int> out(64 * 6);
  emulator::launch(shuffles, {1, 64}, nullptr, out.data());
  ASSERT_EQ(cudaGetLastError(), cudaSuccess);
  int thirds = 0;
  for (int lane = 0; lane < 32; lane += 3) thirds |= 1 << lane;
  for (int t = 0; t < 64; ++t) {
    const int lane = t % 32;
    EXPECT_EQ(out[t * 6], 496);
    EXPECT_EQ(out[t * 6 + 1], lane < 3 ? lane : lane - 3);
    EXPECT_EQ(out[t * 6 + 2], lane % 8 < 6 ? lane + 2 : lane);
    EXPECT_EQ(out[t * 6 + 3], lane / 16 * 16 + 5);
    EXPECT_EQ(out[t * 6 + 4], thirds);
    EXPECT_EQ(out[t * 6 + 5], 10);
  }
}

void diverge() {
  if (threadIdx.x < 32) {
    __syncthreads();
  } else {
    __syncthreads();
  }
}

TEST_P(Kernel, ADivergentBarrierIsNamedByItsLines) {
  emulator::launch(diverge, {1, 64}, nullptr);
  const emulator::Fault fault = only_fault();
  EXPECT_EQ(fault.kind, emulator::FaultKind::kDivergence);
  EXPECT_NE(fault.text.find("kernel_test.cc:"), std::string::npos) << fault.text;
  EXPECT_NE(fault.kernel.find("diverge"), std::string::npos) << fault.kernel;
}

void diverge_in_shuffle(int* out) {
  if (threadIdx.x < 16) out[threadIdx.x] = __shfl_sync(~0U, 1, 0);
  if (threadIdx.x >= 16) __syncthreads();
}

TEST_P(Kernel, AShuffleOfHalfAWarpDeadlocks) {
  std::vector<int> out(32);
  emulator::launch(diverge_in_shuffle, {1, 32}, nullptr, out.data());
  const emulator::Fault fault = only_fault();
  EXPECT_EQ(fault.kind, emulator::FaultKind::kDeadlock);
  EXPECT_NE(fault.text.find("16 wait in the barrier"), std::string::npos) << fault.text;
}

void leave_early(int* out) {
  if (threadIdx.x == 5) return;
  out[threadIdx.x] = __shfl_xor_sync(~0U, 1, 1);
}

TEST_P(Kernel, AShuffleWithALaneThatReturnedIsAFault) {
  std::vector<int> out(32);
  emulator::launch(leave_early, {1, 32}, nullptr, out.data());
  EXPECT_EQ(only_fault().kind, emulator::FaultKind::kExitedLane);
}

void half_leave(int* out) {
  if (threadIdx.x >= 40) return;
  __syncthreads();
  out[threadIdx.x] = 1;
}

TEST_P(Kernel, ABarrierDoesNotWaitForThreadsThatReturned) {
  std::vector<int> out(64);
  emulator::launch(half_leave, {1, 64}, nullptr, out.data());
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(std::accumulate(out.begin(), out.end(), 0), 40);
}

void too_much_shared() {
  static const char declared = 0;
  shared<char[49153]>(declared)[threadIdx.x] = 0;
}

TEST_P(Kernel, StaticSharedMemoryHasALimit) {
  emulator::launch(too_much_shared, {1, 1}, nullptr);
  EXPECT_EQ(only_fault().kind, emulator::FaultKind::kSharedMemory);
}

void copy_late(const float* in, float* before, float* after) {
  static const char declared = 0;
  auto& room = shared<float[128]>(declared);
  emulator::copy_async(&room[4 * threadIdx.x], in + 4 * threadIdx.x, 16, threadIdx.x == 1 ? 8 : 16,
                       emulator::Site::current());
  emulator::copy_async_commit();
  before[threadIdx.x] = room[4 * threadIdx.x];
  emulator::copy_async_wait(0, emulator::Site::current());
  __syncthreads();
  for (unsigned i = threadIdx.x; i < 128; i += 32) after[i] = room[i];
}

TEST_P(Kernel, AsynchronousCopiesArriveAtTheWait) {
  std::vector<float> before(32), after(128);
  alignas(16) float in[128];
  std::iota(std::begin(in), std::end(in), 1.0f);
  emulator::launch(copy_late, {1, 32}, nullptr, in, before.data(), after.data());
  for (const float value : before) EXPECT_TRUE(std::isnan(value));
  for (int i = 0; i < 128; ++i) EXPECT_EQ(after[i], i == 6 || i == 7 ? 0.0f : in[i]);
}

// 16x16 times 16x8 through ldmatrix and mma, against a plain loop.
void multiply(const __nv_bfloat16* a, const __nv_bfloat16* b, float* d) {
  static const char declared_a = 0, declared_b = 0;
  auto& sa = shared<__nv_bfloat16[16][16]>(declared_a);
  auto& sb = shared<__nv_bfloat16[16][8]>(declared_b);
  for (unsigned i = threadIdx.x; i < 256; i += 32) sa[i / 16][i % 16] = a[i];
  for (unsigned i = threadIdx.x; i < 128; i += 32) sb[i / 8][i % 8] = b[i];
  __syncwarp();
  unsigned ra[4], rb[2];
  const unsigned lane = threadIdx.x;
  emulator::load_matrices(ra, 4, &sa[lane % 16][lane / 16 * 8], false, emulator::Site::current());
  emulator::load_matrices(rb, 2, &sb[lane % 16][0], true, emulator::Site::current());
  float sums[4] = {};
  emulator::multiply_matrices(sums, ra, rb, 16, true, emulator::Site::current());
  for (unsigned i = 0; i < 4; ++i) {
    d[(lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2] = sums[i];
  }
}

TEST_P(Kernel, TensorCores) {
  std::vector<__nv_bfloat16> a(256), b(128);
  std::vector<float> d(128), expected(128);
  for (int i = 0; i < 256; ++i) a[i] = __nv_bfloat16(i % 13 - 6);
  for (int i = 0; i < 128; ++i) b[i] = __nv_bfloat16(i % 7 - 3);
  for (int m = 0; m < 16; ++m) {
    for (int n = 0; n < 8; ++n) {
      for (int k = 0; k < 16; ++k) {
        expected[m * 8 + n] += float(a[m * 16 + k]) * float(b[k * 8 + n]);
      }
    }
  }
  emulator::launch(multiply, {1, 32}, nullptr, a.data(), b.data(), d.data());
  EXPECT_EQ(d, expected);
}

void count_up(int* counter) { atomicAdd(counter, 1); }

TEST_P(Kernel, AtomicsHoldAcrossBlocks) {
  int counter = 0;
  emulator::launch(count_up, {200, 64}, nullptr, &counter);
  EXPECT_EQ(counter, 200 * 64);
}

}  // namespace
