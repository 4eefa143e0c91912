// Moving an earlier run out of the way takes one rename per name. They go into .tmp-aside, which
// becomes earlier-N in the end: a kill on the way leaves .tmp-aside, whose checkpoints still count
// and which the next training empties again, so that a run is never split.
#pragma once

#include <vector>

#include "checkpoint/file_system.h"

namespace snug::checkpoint {

inline constexpr const char* kAsideFolder = ".tmp-aside";

// Moves those of `names` that are in `out` to a new folder out/earlier-N, which is returned. Throws
// FileError; undo_setting_aside then brings back what was moved.
Path set_aside(FileSystem& file_system, const Path& out, const std::vector<Path>& names);

// Brings back what an interrupted set_aside moved, if there was one. What has a new owner of its
// name in `out` stays. Throws FileError; may be called again.
void undo_setting_aside(FileSystem& file_system, const Path& out);

}  // namespace snug::checkpoint
