// What held the memory at one moment: now, when the snapshot was made, or when an allocation
// failed.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "doctor/snapshot/names.h"
#include "doctor/snapshot/snapshot.h"

namespace snug::doctor::snapshot {

using RoleBytes = std::array<std::int64_t, kRoleCount>;

// Tensors that are called the same, of all layers.
struct HeldTensors {
  Name name;  // its layer is -1
  std::int64_t bytes = 0;
  std::int64_t count = 0;
  std::int64_t layer_count = 0;  // of which it is; 0: of none, or they are not known
};

struct Moment {
  RoleBytes bytes{};              // of tensors, by role
  std::vector<HeldTensors> rows;  // the largest first

  std::int64_t total_bytes() const;
  std::int64_t named_bytes() const;  // all but those of Role::kUnknown
};

Moment held_now(const Snapshot& snapshot, const Names& names);
// The snapshot has a failure.
Moment held_at_failure(const Snapshot& snapshot, const Names& names);

// Cached by PyTorch and in no tensor: what of it could have served a request.
struct FreeMemory {
  std::int64_t reserved_bytes = 0;   // all segments
  std::int64_t allocated_bytes = 0;  // in blocks, rounded as the allocator does
  std::int64_t free_bytes = 0;       // in the pool of large blocks
  std::int64_t largest_bytes = 0;    // free in one piece there
  std::int64_t small_free_bytes = 0;
  std::int64_t private_free_bytes = 0;  // of CUDA graphs
  std::int64_t piece_count = 0;
};

FreeMemory free_now(const Snapshot& snapshot);
FreeMemory free_at_failure(const Snapshot& snapshot);

}  // namespace snug::doctor::snapshot
