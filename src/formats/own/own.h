// Snug's own checkpoints as a source and a target of conversions: an out_dir, or one step's folder
// in it. Format: docs/formats.md.
#pragma once

#include "formats/format.h"

namespace snug::formats::own {

bool is_own(const checkpoint::Path& path);
Source open_own(const checkpoint::Path& path);
// Makes an out_dir with one checkpoint in it.
void write_own(const Source& source, const checkpoint::Path& to, const WriteOptions& options);

}  // namespace snug::formats::own
