// Packing: offsets for blocks so that no two that are alive together overlap.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/liveness.h"

namespace snug::plan {

struct Packing {
  std::vector<std::int64_t> offset;  // per block
  std::int64_t total_bytes = 0;
};

// Tries several greedy orders and keeps the best; stops as soon as one reaches `lower_bound_bytes`.
Packing pack(const std::vector<Block>& blocks, std::int64_t lower_bound_bytes);

}  // namespace snug::plan
