// What is told of a disk's free space where the disk does not count it.
#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <optional>
#include <string>

#include "checkpoint/checkpoint_store.h"
#include "checkpoint/checkpoint_testing.h"

namespace snug::checkpoint {
namespace {

class Uncounted : public testing::FaultyFileSystem {
 public:
  using FaultyFileSystem::FaultyFileSystem;
  std::optional<std::int64_t> free_bytes(const Path&) override { return std::nullopt; }
};

TEST(FreeSpaceTest, AFileSystemWithoutASizeHasNone) {
  EXPECT_EQ(FileSystem().free_bytes("/proc"), std::nullopt);
}

TEST(FreeSpaceTest, WhatIsNotCountedIsNotToldAsANumber) {
  const testing::TemporaryFolder temporary;
  testing::TinyModel model;
  testing::FaultPlan plan;
  plan.fault_at = 8;
  plan.error_number = ENOSPC;
  CheckpointStore full(temporary.path() / "out", 1, std::make_unique<Uncounted>(plan));
  full.check_space(model.tensors(), CheckpointStore::Space::kNewRun);
  try {
    full.save(testing::state_at(1), model.tensors(), false);
    FAIL() << "saved";
  } catch (const DeviceError& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("make room"), std::string::npos) << message;
    EXPECT_EQ(message.find(" free"), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace snug::checkpoint
