// Reads a training log.
#pragma once

#include <istream>

#include "doctor/log/summary.h"

namespace snug {

// Reads the stream to its end. Any bytes are tolerated; memory stays bounded (a few MiB) whatever
// the length of the log or of its lines. Never throws for what the log holds.
LogSummary read_log(std::istream& stream);

}  // namespace snug
