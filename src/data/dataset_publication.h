// A data set is several files that belong together. They are put in place while a mark stands: from
// before the first rename until after the last there is a file .snug-publishing beside them, and
// while it is there nobody takes the folder for a data set.
#pragma once

#include <filesystem>
#include <functional>
#include <span>

#include "data/atomic_file.h"

namespace snug::data {

// Stages every file, then gives all of them their names in `directory`. A kill before the mark
// leaves the old data set, one after it a folder that require_whole_dataset refuses; preparing
// again mends it. Throws DeviceError.
void publish_together(const std::filesystem::path& directory, std::span<AtomicFile* const> files);

// The same around `rename_all`, which gives files that are on the disk their names.
void publish_under_mark(const std::filesystem::path& directory,
                        const std::function<void()>& rename_all);

// Throws DataError when a publication in `directory` was cut short.
void require_whole_dataset(const std::filesystem::path& directory);

}  // namespace snug::data
