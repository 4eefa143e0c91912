// The checked build on kernels that are wrong: each mistake is found and named. And on those that
// are right: nothing is.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include "checked/kernels.h"
#include "emulator/card.h"
#include "emulator/card_launch.h"
#include "emulator/counters.h"
#include "emulator/faults.h"
#include "emulator/mutation.h"
#include "emulator/regions.h"

namespace emulator {
namespace {

class Checked : public testing::Test {
 protected:
  Checked() {
    insert_card(card_by_name("rtx3060"));
    print_faults(false);
    cudaMalloc(&in_, kBytes);
    cudaMalloc(&out_, kBytes);
    cudaMemset(in_, 0, kBytes);
  }
  ~Checked() override {
    restore_barriers();
    forget_regions();
    take_faults();
    print_faults(true);
    insert_card(card_by_name("rtx3060"));
  }

  template <typename... Params>
  void run(void (*kernel)(Params...), unsigned threads, std::type_identity_t<Params>... args) {
    launch(kernel, {2, threads}, nullptr, args...);
  }

  void expect(FaultKind kind, const std::string& word) {
    const auto faults = take_faults();
    ASSERT_EQ(faults.size(), 1u);
    EXPECT_EQ(faults[0].kind, kind) << faults[0].describe();
    EXPECT_NE(faults[0].describe().find(word), std::string::npos) << faults[0].describe();
    EXPECT_EQ(cudaGetLastError(), cudaErrorLaunchFailure);
  }
  void expect_none() {
    for (const Fault& fault : take_faults()) ADD_FAILURE() << fault.describe();
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  }

  static constexpr std::size_t kBytes = 1024;
  float *in_ = nullptr, *out_ = nullptr;
};

TEST_F(Checked, RightKernelsPass) {
  launch(kernels::tree_sum, {1, 256}, nullptr, in_, out_);
  launch(kernels::reverse_warp, {1, 32}, nullptr, in_, out_);
  launch(kernels::staged_copy, {1, 32}, nullptr, in_, out_);
  expect_none();
}

TEST_F(Checked, OutOfBoundsInGlobalMemory) {
  launch(kernels::read_behind, {1, 256}, nullptr, in_, out_, 255);
  expect_none();
  launch(kernels::read_behind, {1, 1024}, nullptr, in_, out_, 256);
  expect(FaultKind::kOutOfBounds, "0 bytes after an allocation of 1024 bytes");
}

TEST_F(Checked, WritesBehindAndTheLineThatDoesIt) {
  launch(kernels::write_behind, {1, 1024}, nullptr, out_, 256);
  expect(FaultKind::kOutOfBounds, "kernels.cc:");
}

TEST_F(Checked, OverrunsBetweenNamedNeighbours) {
  name_region(in_, 512, "weights");
  name_region(in_ + 128, 512, "gradients");
  name_region(out_, kBytes, "out");
  launch(kernels::read_behind, {1, 256}, nullptr, in_, out_, 127);
  expect_none();
  name_region(in_ + 128, 256, "gradients");
  launch(kernels::read_behind, {1, 256}, nullptr, in_, out_, 255);
  expect(FaultKind::kOutOfBounds, "after gradients");
}

TEST_F(Checked, OutOfBoundsInSharedMemory) {
  run(kernels::shared_behind, 32, out_);
  expect(FaultKind::kOutOfBounds, "shared object");
}

TEST_F(Checked, UnwrittenSharedMemory) {
  launch(kernels::read_unwritten_shared, {1, 31}, nullptr, out_);
  expect_none();
  launch(kernels::read_unwritten_shared, {1, 32}, nullptr, out_);
  expect(FaultKind::kUninitialised, "nobody has written");
}

TEST_F(Checked, UnwrittenGlobalMemory) {
  mark_undefined(in_ + 3, 4);
  launch(kernels::reverse_warp, {1, 32}, nullptr, in_, out_);
  expect(FaultKind::kUninitialised, "byte 12 of an allocation");
}

TEST_F(Checked, RacesAcrossBlocksAndAtomics) {
  run(kernels::add_with_atomic, 32, reinterpret_cast<int*>(in_));
  expect_none();
  launch(kernels::add_without_atomic, {2, 1}, nullptr, reinterpret_cast<int*>(in_));
  expect(FaultKind::kRace, "block 0");
}

TEST_F(Checked, MisalignedWideAccess) {
  launch(kernels::misaligned_wide, {1, 1}, nullptr, in_, out_);
  expect(FaultKind::kMisaligned, "16 bytes");
}

TEST_F(Checked, AHostPointer) {
  float host[64] = {};
  launch(kernels::reverse_warp, {1, 32}, nullptr, host, out_);
  expect(FaultKind::kHostPointer, "not the card's");
}

// Every barrier deleted in turn: all are needed, all are missed.
TEST_F(Checked, EveryDeletedBarrierIsNoticed) {
  const auto run_all = [&] {
    launch(kernels::tree_sum, {1, 256}, nullptr, in_, out_);
    if (!take_faults().empty()) return true;
    launch(kernels::reverse_warp, {1, 32}, nullptr, in_, out_);
    if (!take_faults().empty()) return true;
    launch(kernels::staged_copy, {1, 32}, nullptr, in_, out_);
    return !take_faults().empty();
  };
  record_barriers();
  EXPECT_FALSE(run_all());
  const auto sites = take_barriers();
  EXPECT_EQ(sites.size(), 4u);
  for (const BarrierSite& site : sites) {
    delete_barrier(site);
    EXPECT_TRUE(run_all()) << site.file << ":" << site.line;
    restore_barriers();
    insert_card(card_by_name("rtx3060"));
    cudaMalloc(&in_, kBytes);
    cudaMalloc(&out_, kBytes);
    cudaMemset(in_, 0, kBytes);
  }
}

TEST_F(Checked, CountsSectorsAndTraffic) {
  start_counting();
  launch(kernels::strided_copy, {1, 32}, nullptr, in_, out_, 1);
  Counts counts = take_counts().begin()->second;
  EXPECT_EQ(counts.bytes_read, 128u);
  EXPECT_EQ(counts.distinct_written, 128u);
  EXPECT_EQ(counts.requests, 2u);
  EXPECT_EQ(counts.sectors, 8u);
  EXPECT_EQ(counts.sectors_used(), 1.0);
  EXPECT_EQ(counts.requests_used(), 1.0);
  EXPECT_EQ(counts.memory_read, 128u);
  EXPECT_EQ(counts.memory_written, 128u);
  EXPECT_EQ(counts.memory_ratio(), 1.0);
  EXPECT_EQ(counts.threads_per_block, 32u);
  EXPECT_EQ(counts.blocks_at_once, 16u);
  EXPECT_EQ(counts.traffic_ratio(), 1.0);
  start_counting();
  launch(kernels::strided_copy, {1, 32}, nullptr, in_, out_, 8);
  counts = take_counts().begin()->second;
  EXPECT_EQ(counts.sectors, 4u + 32u);
  EXPECT_EQ(counts.memory_read, 32u * 32u);
  EXPECT_EQ(counts.sectors_used(), 256.0 / (36 * 32));
}

TEST_F(Checked, CountsBankConflicts) {
  for (const int stride : {32, 33}) {
    start_counting();
    launch(kernels::columns_of_shared, {1, 32}, nullptr, out_, stride);
    const Counts counts = take_counts().begin()->second;
    EXPECT_EQ(counts.min_shared_passes, 33u);
    EXPECT_EQ(counts.bank_conflicts(), stride == 33 ? 0 : 31);
  }
}

}  // namespace
}  // namespace emulator
