// Reads a snapshot of PyTorch's memory of any size, in one pass, within bounded memory.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "doctor/snapshot/snapshot.h"

namespace snug::doctor::snapshot {

// Both throw DataError for what is no snapshot; nothing in it is ever run.
Snapshot read_snapshot(std::string_view bytes, const std::string& name);
Snapshot read_snapshot_file(const std::filesystem::path& path);

}  // namespace snug::doctor::snapshot
