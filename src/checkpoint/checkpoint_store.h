// The checkpoints of one run in its out_dir. A save is all or nothing: whatever happens to it, what
// was saved before can still be loaded, and a load skips what is damaged. Layout: docs/formats.md.
// One training writes to an out_dir at a time, see check_writable; any number of processes may
// read.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_folder.h"
#include "checkpoint/out_folder.h"

namespace snug {

// Which checkpoint to load: the one saved last, or the one with the lowest validation loss.
enum class Pick { kNewest, kBest };

struct Saved {
  std::string folder;
  std::vector<std::string> warnings;  // what could not be cleaned up, a line each
};

struct Loaded {
  TrainingState state;
  std::string folder;
  std::vector<std::string> warnings;  // what was skipped and why, a line each
};

class CheckpointStore {
 public:
  // Keeps the newest `keep_count` >= 1 checkpoints, and the best. Touches nothing yet.
  CheckpointStore(Path out_dir, int keep_count,
                  std::unique_ptr<FileSystem> file_system = std::make_unique<FileSystem>());

  // Throws DeviceError unless there is free space for one checkpoint of these tensors. Only their
  // names, dtypes and shapes count; touches nothing, and out_dir need not be there yet.
  void check_space(const CheckpointTensors& tensors);
  // Call before a training: makes out_dir, locks it against other trainings for the life of this
  // store, removes what killed runs left, and writes a probe. Throws ConfigError when out_dir is a
  // file, DeviceError when it cannot be written or another process has the lock.
  void check_writable();

  // Call before a run that starts anew: moves the checkpoints and links that are there, and files
  // of these names, into a new folder out_dir/earlier-N. Nothing when out_dir has no checkpoint and
  // none of the files, or empty ones only.
  std::optional<Path> set_aside(const std::vector<std::string>& companions);

  // Saves to out_dir/step-<iteration>, in the place of an earlier checkpoint of that iteration;
  // then out_dir/latest leads to it, and out_dir/best if `is_best`; then older ones are removed.
  // One that the last load found damaged is not among the `keep_count`.
  // Allocates in proportion to the number of tensors, not to their size.
  // Throws DeviceError (disk full, not writable) and leaves nothing half-saved.
  Saved save(const TrainingState& state, const CheckpointTensors& tensors, bool is_best);

  // What load would load, from state.json and file sizes alone: for building the model before its
  // memory is there. Nothing when out_dir holds no checkpoint at all; DataError when it holds some
  // but none is usable.
  std::optional<Loaded> peek(Parts parts = Parts::kWeightsAndOptimizer,
                             Pick pick = Pick::kNewest) const;

  // Fills the weights, and the optimizer unless it is empty, piece by piece from the files; a
  // checkpoint that turns out damaged is skipped for the next older one. Throws DataError when
  // there is nothing to load, or when the tensors saved are not those wanted. The tensors are then
  // in any state. Changes nothing in out_dir.
  Loaded load(const CheckpointTensors& tensors, Pick pick = Pick::kNewest) const;

 private:
  struct Candidate;

  std::vector<Candidate> scan(Parts parts) const;
  std::vector<Candidate> candidates(Parts parts, Pick pick,
                                    std::vector<std::string>& warnings) const;
  std::int64_t next_save_number() const;
  void lock_out_dir();
  Path write_and_publish(const TrainingState& state, const CheckpointTensors& tensors);
  void prune(std::vector<std::string>& warnings);

  std::unique_ptr<FileSystem> file_system_;
  OutFolder out_;
  int keep_count_;
  std::unique_ptr<FolderLock> lock_;   // of out_dir, from check_writable on
  mutable std::vector<Path> damaged_;  // what the last load skipped for its content
};

}  // namespace snug
