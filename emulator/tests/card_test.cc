// The fake card's runtime: memory, streams and errors as a card has them.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "emulator/card.h"
#include "emulator/card_launch.h"
#include "emulator/faults.h"

namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

class Card : public testing::Test {
 protected:
  Card() { emulator::insert_card(emulator::card_by_name("rtx3060")); }
  ~Card() override {
    emulator::set_stream_mode(emulator::StreamMode::kEager);
    emulator::insert_card(emulator::card_by_name("rtx3060"));
    emulator::take_faults();
  }
};

std::size_t free_bytes() {
  std::size_t free = 0, total = 0;
  EXPECT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
  return free;
}

TEST_F(Card, ATwelveGibibyteArenaCostsNothingUntilTouched) {
  const std::size_t all = free_bytes();
  EXPECT_EQ(all, (std::size_t{12} << 30) - 256 * kMiB);
  char* arena = nullptr;
  ASSERT_EQ(cudaMalloc(&arena, all), cudaSuccess);
  EXPECT_EQ(free_bytes(), 0u);
  EXPECT_EQ(cudaMemset(arena + all - 4, 1, 4), cudaSuccess);
  EXPECT_EQ(emulator::card_use().high_water_bytes, all);
  void* more = &arena;
  EXPECT_EQ(cudaMalloc(&more, 1), cudaErrorMemoryAllocation);
  EXPECT_EQ(more, nullptr);
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "it is not sticky";
  EXPECT_EQ(cudaFree(arena), cudaSuccess);
  EXPECT_EQ(free_bytes(), all);
  EXPECT_EQ(cudaFree(arena), cudaErrorInvalidValue);
}

TEST_F(Card, OneByteMoreThanFreeIsRefused) {
  const std::size_t all = free_bytes();
  void* arena = nullptr;
  EXPECT_EQ(cudaMalloc(&arena, all + 1), cudaErrorMemoryAllocation);
  emulator::set_held_bytes(1000 * kMiB);
  EXPECT_EQ(cudaMalloc(&arena, all), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaMalloc(&arena, all - 1000 * kMiB), cudaSuccess);
}

TEST_F(Card, CopiesThatLeaveAnAllocationAreRefused) {
  float* card = nullptr;
  float host[16] = {};
  ASSERT_EQ(cudaMalloc(&card, 60), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(card, host, 60, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(card, host, 64, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(card, host, 60, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemset(host, 0, 64), cudaErrorInvalidValue);
}

void fill(float* out, float value) { out[threadIdx.x] = value; }

struct TwoStreams {
  cudaStream_t older = nullptr, younger = nullptr;
  cudaEvent_t event = nullptr;
  float *card = nullptr, *pinned = nullptr;
  TwoStreams() {
    cudaStreamCreateWithFlags(&older, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&younger, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    cudaMalloc(&card, 128);
    cudaMallocHost(&pinned, 128);
    cudaMemset(card, 0, 128);
    cudaDeviceSynchronize();
  }
};

TEST_F(Card, ALazyStreamShowsAMissingEvent) {
  emulator::set_stream_mode(emulator::StreamMode::kLazy);
  for (const bool waits : {false, true}) {
    TwoStreams s;
    emulator::launch(fill, {1, 32}, s.older, s.card, 3.0f);
    cudaEventRecord(s.event, s.older);
    if (waits) cudaStreamWaitEvent(s.younger, s.event);
    cudaMemcpyAsync(s.pinned, s.card, 128, cudaMemcpyDeviceToHost, s.younger);
    EXPECT_TRUE(std::isnan(s.pinned[0])) << "poisoned until the copy has run";
    ASSERT_EQ(cudaStreamSynchronize(s.younger), cudaSuccess);
    EXPECT_EQ(s.pinned[0], waits ? 3.0f : 0.0f);
  }
}

TEST_F(Card, ALazyStreamReadsPinnedMemoryLateAndPageableMemoryAtOnce) {
  emulator::set_stream_mode(emulator::StreamMode::kLazy);
  TwoStreams s;
  float pageable[32] = {5};
  s.pinned[0] = 5;
  cudaMemcpyAsync(s.card, s.pinned, 4, cudaMemcpyHostToDevice, s.older);
  cudaMemcpyAsync(s.card + 1, pageable, 4, cudaMemcpyHostToDevice, s.older);
  s.pinned[0] = pageable[0] = 6;
  float back[2];
  cudaDeviceSynchronize();
  cudaMemcpy(back, s.card, 8, cudaMemcpyDeviceToHost);
  EXPECT_EQ(back[0], 6.0f);
  EXPECT_EQ(back[1], 5.0f);
}

// cudaMemcpy from pageable memory returns when that was read, which can be before the card has it:
// a stream that does not wait for the null stream may still see what was there.
TEST_F(Card, ALazyCopyFromPageableMemoryArrivesLate) {
  emulator::set_stream_mode(emulator::StreamMode::kLazy);
  for (const bool waits : {false, true}) {
    TwoStreams s;
    const float pageable[32] = {5};
    ASSERT_EQ(cudaMemcpy(s.card, pageable, 128, cudaMemcpyHostToDevice), cudaSuccess);
    if (waits) cudaStreamSynchronize(nullptr);
    cudaMemcpyAsync(s.pinned, s.card, 128, cudaMemcpyDeviceToHost, s.younger);
    ASSERT_EQ(cudaStreamSynchronize(s.younger), cudaSuccess);
    EXPECT_EQ(s.pinned[0], waits ? 5.0f : 0.0f);
  }
}

TEST_F(Card, EventsAreReadyWhenTheirStreamGotThere) {
  emulator::set_stream_mode(emulator::StreamMode::kLazy);
  TwoStreams s;
  emulator::launch(fill, {1, 32}, s.older, s.card, 1.0f);
  cudaEventRecord(s.event, s.older);
  EXPECT_EQ(cudaEventQuery(s.event), cudaErrorNotReady);
  EXPECT_EQ(cudaStreamQuery(s.older), cudaErrorNotReady);
  EXPECT_EQ(cudaEventSynchronize(s.event), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(s.event), cudaSuccess);
}

TEST_F(Card, AGraphRunsWhatWasCaptured) {
  for (const auto mode : {emulator::StreamMode::kEager, emulator::StreamMode::kLazy}) {
    emulator::set_stream_mode(mode);
    TwoStreams s;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    ASSERT_EQ(cudaStreamBeginCapture(s.older, cudaStreamCaptureModeThreadLocal), cudaSuccess);
    emulator::launch(fill, {1, 32}, s.older, s.card, 9.0f);
    cudaEventRecord(s.event, s.older);
    cudaStreamWaitEvent(s.younger, s.event);
    cudaMemcpyAsync(s.pinned, s.card, 128, cudaMemcpyDeviceToHost, s.younger);
    EXPECT_EQ(cudaStreamSynchronize(s.older), cudaErrorStreamCaptureUnsupported);
    ASSERT_EQ(cudaStreamEndCapture(s.older, &graph), cudaSuccess);
    EXPECT_EQ(s.pinned[0], 0.0f) << "capturing runs nothing";
    ASSERT_EQ(cudaGraphInstantiate(&exec, graph), cudaSuccess);
    ASSERT_EQ(cudaGraphLaunch(exec, s.older), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(s.older), cudaSuccess);
    EXPECT_EQ(s.pinned[31], 9.0f);
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
  }
}

void wait_for_nobody() {
  if (threadIdx.x == 0) __syncwarp();
  if (threadIdx.x != 0) __syncthreads();
}

TEST_F(Card, AKernelsFaultIsSticky) {
  emulator::print_faults(false);
  emulator::launch(wait_for_nobody, {1, 32}, nullptr);
  emulator::print_faults(true);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
  void* address = nullptr;
  EXPECT_EQ(cudaMalloc(&address, 4), cudaErrorLaunchFailure);
  EXPECT_EQ(cudaGetLastError(), cudaErrorLaunchFailure);
  EXPECT_EQ(cudaGetLastError(), cudaErrorLaunchFailure);
  EXPECT_EQ(emulator::take_faults().size(), 1u);
}

TEST_F(Card, ItCanBeLostOldOrMissing) {
  float* card = nullptr;
  ASSERT_EQ(cudaMalloc(&card, 128), cudaSuccess);
  emulator::lose_card_after(1);
  EXPECT_EQ(cudaMemset(card, 0, 128), cudaSuccess);
  EXPECT_EQ(cudaMemset(card, 0, 128), cudaErrorUnknown);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorUnknown);

  emulator::CardSettings old;
  old.driver_version = 12080;
  emulator::insert_card(old);
  int count = 0;
  EXPECT_EQ(cudaGetDeviceCount(&count), cudaErrorInsufficientDriver);
  emulator::insert_card(std::nullopt);
  EXPECT_EQ(cudaGetDeviceCount(&count), cudaErrorNoDevice);
  EXPECT_EQ(count, 0);
}

TEST_F(Card, AMallocFailsOnOrder) {
  emulator::fail_malloc_after(1);
  void* address = nullptr;
  EXPECT_EQ(cudaMalloc(&address, 4), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&address, 4), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaMalloc(&address, 4), cudaSuccess);
}

TEST_F(Card, PinnedMemoryFailsOnOrder) {
  emulator::fail_pinned_after(1);
  void* address = nullptr;
  EXPECT_EQ(cudaHostAlloc(&address, 4, cudaHostAllocDefault), cudaSuccess);
  EXPECT_EQ(cudaHostAlloc(&address, 4, cudaHostAllocDefault), cudaErrorMemoryAllocation);
  EXPECT_EQ(address, nullptr);
  EXPECT_EQ(cudaMallocHost(&address, 4), cudaSuccess);
}

TEST_F(Card, LaunchesOfBadShapeAreRefused) {
  float* card = nullptr;
  ASSERT_EQ(cudaMalloc(&card, 128), cudaSuccess);
  const auto error_of = [&](dim3 grid, dim3 block, std::size_t shared) {
    emulator::launch(fill, {grid, block, shared}, nullptr, card, 0.0f);
    return cudaGetLastError();
  };
  EXPECT_EQ(error_of(1, 32, 0), cudaSuccess);
  EXPECT_EQ(error_of(0, 32, 0), cudaErrorInvalidConfiguration);
  EXPECT_EQ(error_of(1, 1025, 0), cudaErrorInvalidConfiguration);
  EXPECT_EQ(error_of(dim3(1, 65536), 1, 0), cudaErrorInvalidConfiguration);
  EXPECT_EQ(error_of(1, 32, 48 << 10), cudaSuccess);
  EXPECT_EQ(error_of(1, 32, (48 << 10) + 1), cudaErrorInvalidValue);
  const int most = 99 << 10;
  EXPECT_EQ(cudaFuncSetAttribute(fill, cudaFuncAttributeMaxDynamicSharedMemorySize, most + 1),
            cudaErrorInvalidValue);
  cudaGetLastError();
  EXPECT_EQ(cudaFuncSetAttribute(fill, cudaFuncAttributeMaxDynamicSharedMemorySize, most),
            cudaSuccess);
  EXPECT_EQ(error_of(1, 32, most), cudaSuccess);
}

float& shared_kibibytes_16() {
  static const char declared = 0;
  return *static_cast<float*>(emulator::shared_object(&declared, 16 << 10, 16));
}
void use_16_shared_kibibytes(float* out) {
  float& first = shared_kibibytes_16();
  if (threadIdx.x == 0) first = 1;
  __syncthreads();
  out[threadIdx.x] = first;
}

// 48 KiB are granted for both kinds of shared memory together, unless more was asked for.
TEST_F(Card, StaticAndDynamicSharedMemoryShareTheLimit) {
  float* card = nullptr;
  ASSERT_EQ(cudaMalloc(&card, 128), cudaSuccess);
  emulator::launch(use_16_shared_kibibytes, {1, 32, 32 << 10}, nullptr, card);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  emulator::print_faults(false);
  cudaFuncSetAttribute(use_16_shared_kibibytes, cudaFuncAttributeMaxDynamicSharedMemorySize,
                       40 << 10);
  emulator::launch(use_16_shared_kibibytes, {1, 32, 40 << 10}, nullptr, card);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  emulator::insert_card(emulator::card_by_name("rtx3060"));  // forgets what was granted
  ASSERT_EQ(cudaMalloc(&card, 128), cudaSuccess);
  emulator::launch(use_16_shared_kibibytes, {1, 32, 33 << 10}, nullptr, card);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
  emulator::print_faults(true);
}

TEST_F(Card, KnowsItsNames) {
  for (const std::string& name : emulator::card_names()) {
    ASSERT_TRUE(emulator::card_by_name(name)) << name;
  }
  EXPECT_FALSE(emulator::card_by_name("rtx3061"));
  cudaDeviceProp facts;
  ASSERT_EQ(cudaGetDeviceProperties(&facts, 0), cudaSuccess);
  EXPECT_STREQ(facts.name, "NVIDIA GeForce RTX 3060");
  EXPECT_EQ(facts.sharedMemPerBlockOptin, 101376u);
  EXPECT_EQ(facts.sharedMemPerMultiprocessor, 102400u);
}

}  // namespace
