// Every byte of an out_dir read and compared with what was saved, for `snug verify`. Changes
// nothing; may run beside a training, which can then remove a checkpoint under it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_folder.h"

namespace snug::checkpoint {

struct CheckpointVerdict {
  Path folder;
  std::int64_t iteration = 0, save_number = 0;  // 0 where state.json is not whole
  std::int64_t byte_count = 0;
  std::string problem;      // "": whole
  bool unreadable = false;  // the problem is the disk's, not the content's
};

struct OutDirVerdict {
  std::vector<CheckpointVerdict> checkpoints;  // in the order of their saves
  std::vector<std::string> problems;           // of links
  std::vector<std::string> notes;              // what a kill left that the next run sets right
  bool whole() const;
};

// `path` is an out_dir or one checkpoint in it. `progress` is called with the bytes read so far.
// Throws DataError when there is neither.
OutDirVerdict verify_out_dir(const Path& path, FileSystem& file_system,
                             const std::function<void(std::int64_t)>& progress);

}  // namespace snug::checkpoint
