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

namespace snug::checkpoint {

// Which checkpoint to load: the one saved last, or the one with the lowest validation loss.
enum class WhichCheckpoint { kNewest, kBest };

struct Saved {
  std::string folder;
  std::vector<std::string> warnings;  // what could not be cleaned up, a line each
};

// A checkpoint could not be written; those before it are intact, and a later try may succeed.
struct SaveFailed : DeviceError {
  using DeviceError::DeviceError;
};

struct Loaded {
  TrainingState state;
  std::string folder;
  std::vector<std::string> warnings;  // what was skipped and why, a line each
};

class CheckpointStore {
 public:
  // Keeps the newest `keep_count` >= 1 checkpoints, and the best. Touches nothing yet. For reading,
  // `out_dir` may also be one checkpoint, or a link to it.
  CheckpointStore(Path out_dir, int keep_count,
                  std::unique_ptr<FileSystem> file_system = std::make_unique<FileSystem>());

  // Throws DeviceError unless there is free space for one checkpoint of these tensors, or, before a
  // run, for all that are there at once while it saves: those kept, the best and the one being
  // written, less those of a run that goes on. Only names, dtypes and shapes of the tensors count;
  // touches nothing, and out_dir need not be there yet.
  enum class Space { kOneSave, kNewRun, kResumedRun };
  void check_space(const CheckpointTensors& tensors, Space space = Space::kOneSave);
  // Call before a training: makes out_dir, locks it against other trainings for the life of this
  // store, removes what killed runs left, sets `latest` right, and writes a probe. Throws
  // ConfigError when out_dir is a file, DeviceError when it cannot be written, another process has
  // the lock, or a checkpoint in it cannot be read: then nobody knows which number the next save
  // must have to be the newest. Returns warnings, a line each.
  std::vector<std::string> check_writable();

  // When out_dir is no longer the folder that check_writable locked, because someone moved or
  // removed that one: makes and locks a new one, and returns the line that tells of it. Throws
  // SaveFailed.
  std::optional<std::string> reclaim();

  // Call before a run that starts anew: moves the checkpoints and links that are there, and files
  // of these names, into a new folder out_dir/earlier-N, all or none. Nothing when out_dir has no
  // checkpoint and none of the files, or empty ones only.
  std::optional<Path> set_aside(const std::vector<std::string>& companions);

  // Saves to out_dir/step-<iteration>, in the place of an earlier checkpoint of that iteration;
  // then out_dir/latest leads to it, and out_dir/best if `is_best`; then older ones are removed,
  // unless anything in out_dir could not be read. What latest or best names is never removed. One
  // that the last load found damaged is not among the `keep_count`.
  // Allocates in proportion to the number of tensors, not to their size.
  // Throws SaveFailed (disk full, not writable) and leaves nothing half-saved.
  Saved save(const TrainingState& state, const CheckpointTensors& tensors, bool is_best);

  // What load would load, from state.json and file sizes alone: for building the model before its
  // memory is there. Nothing when out_dir holds no checkpoint at all; DataError when it holds some
  // but none is usable; DeviceError as load.
  std::optional<Loaded> peek(Parts parts = Parts::kWeightsAndOptimizer,
                             WhichCheckpoint pick = WhichCheckpoint::kNewest) const;

  // Fills the weights, and the optimizer unless it is empty, piece by piece from the files; a
  // checkpoint that turns out damaged is skipped for the next older one. Throws DataError when
  // there is nothing to load, or when the tensors saved are not those wanted; DeviceError when the
  // newest cannot be read now: with the optimizer no older one is taken for it, without it one is,
  // and a warning tells. The tensors are then in any state. Changes nothing in out_dir.
  Loaded load(const CheckpointTensors& tensors,
              WhichCheckpoint pick = WhichCheckpoint::kNewest) const;

 private:
  struct Candidate;

  std::vector<Candidate> scan(Parts parts) const;
  std::vector<Candidate> candidates(Parts parts, WhichCheckpoint pick,
                                    std::vector<std::string>& warnings) const;
  std::int64_t next_save_number();
  void lock_out_dir();
  void set_latest_right();
  Path write_and_publish(const TrainingState& state, const CheckpointTensors& tensors);
  std::string save_failure(const TrainingState& state, const CheckpointTensors& tensors,
                           const FileError& error);
  void prune(const Path& published, std::vector<std::string>& warnings);

  std::unique_ptr<FileSystem> file_system_;
  OutFolder out_;
  int keep_count_;
  bool claimed_ = false;                          // by check_writable
  std::unique_ptr<FolderLock> lock_;              // of out_dir, from check_writable on
  std::optional<std::int64_t> last_save_number_;  // in out_dir, once all of it could be read
  mutable std::vector<Path> damaged_;             // what the last load skipped for its content
  mutable std::vector<Path> unread_;              // what it could not read: never removed
};

}  // namespace snug::checkpoint
