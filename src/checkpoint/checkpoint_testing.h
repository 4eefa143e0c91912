// For the tests of this folder: a temporary folder, a small model to save, and a disk that fails,
// shortens writes or loses power at a chosen operation.
#pragma once

#include <cerrno>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/temporary_folder.h"
#include "checkpoint/checkpoint_folder.h"

namespace snug::checkpoint::testing {

using snug::TemporaryFolder;

std::string read_text(const Path& path);
void write_text(const Path& path, std::string_view text);
std::set<std::string> names_in(const Path& folder);

// Three weights of different dtypes and ranks, and two optimizer tensors.
class TinyModel : public TensorBytes {
 public:
  explicit TinyModel(int width = 5);
  TinyModel(const TinyModel&) = delete;
  TinyModel& operator=(const TinyModel&) = delete;

  // Values that differ from one seed to the next in every tensor.
  void fill(int seed);
  bool holds(int seed) const;
  CheckpointTensors tensors() { return {weights, optimizer, this}; }
  CheckpointTensors weights_only() { return {weights, {}, this}; }

  std::span<const std::byte> get(std::int32_t id, std::int64_t offset,
                                 std::int64_t byte_count) override;
  void put(std::int32_t id, std::int64_t offset, std::int64_t byte_count,
           const Fill& fill) override;

  std::vector<NamedTensor> weights;
  std::vector<NamedTensor> optimizer;

 private:
  NamedTensor add(const std::string& name, DType dtype, const Shape& shape);
  std::vector<std::vector<std::byte>> buffers_;
};

TrainingState state_at(std::int64_t iteration);

// Thrown instead of the operation at which the power fails. Not an Error: nobody handles it.
struct PowerLoss {};

// What a FaultyFileSystem is to do, and what it has seen. Outlives it.
struct FaultPlan {
  int fault_at = -1;     // the operation to fail, counted from 0; -1: none
  int error_number = 0;  // of that failure; 0: the power fails, and so does every later operation
  // Looks at the disk (kind, list, read_link, open_file and reads of the file) count on their own.
  int read_fault_at = -1;
  int read_fault_count = 1;  // so many from there on fail
  int read_error_number = EIO;
  int read_count = 0;
  std::vector<std::string> read_log;  // what each one was

  std::size_t max_write_bytes = SIZE_MAX;
  std::int64_t free_bytes = -1;  // -1: what the disk has
  bool links_unsupported = false;

  int operation_count = 0;
  // What the disk need not remember after a loss of power, oldest first.
  struct Undo {
    Path folder;
    std::function<void()> action;
  };
  std::vector<Undo> undo;
  std::set<Path> unsynced_files;  // by content
  std::set<Path> unsynced_names;  // of files that were made
  Path graveyard;                 // where removed files are kept for undo; empty: they are not

  // Counts a look at the disk; true when it is to fail.
  bool look_fails(const char* what, const Path& path);

  // Brings the disk to the oldest state that the syncs so far allow: unsynced files are cut in
  // half, unsynced names are as they were.
  void lose_unsynced();
};

// Syncs are recorded and not done: no real power failure is to be survived.
class FaultyFileSystem : public FileSystem {
 public:
  explicit FaultyFileSystem(FaultPlan& plan) : plan_(plan) {}

  int create_file(const Path& path) override;
  std::size_t write_some(int descriptor, const Path& path,
                         std::span<const std::byte> bytes) override;
  void sync_file(int descriptor, const Path& path) override;
  bool create_folder(const Path& path) override;
  void create_link(const Path& target, const Path& path) override;
  void rename(const Path& from, const Path& to) override;
  void remove_file(const Path& path) override;
  void remove_empty_folder(const Path& path) override;
  void sync_folder(const Path& path) override;
  std::filesystem::file_type kind(const Path& path) override;
  std::vector<Path> list(const Path& folder) override;
  Path read_link(const Path& path) override;
  std::unique_ptr<InputFile> open_file(const Path& path) override;
  std::optional<std::int64_t> free_bytes(const Path& folder) override;

 private:
  void pass(const Path& path);
  void look(const char* what, const Path& path);
  void bury(const Path& path);

  FaultPlan& plan_;
};

}  // namespace snug::checkpoint::testing
