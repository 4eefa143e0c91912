// The allocation that failed, if the snapshot recorded one.
#pragma once

#include "doctor/snapshot/snapshot_case.h"

namespace snug::doctor::snapshot {

// The snapshot has a failure.
Failure failure_in(const Snapshot& snapshot, const InferredModel& inferred, const Names& names);

}  // namespace snug::doctor::snapshot
