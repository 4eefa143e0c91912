// ByteRange: an amount of memory that is known to lie between two ends.
#pragma once

#include <cstdint>

namespace snug {

struct ByteRange {
  std::int64_t low_bytes = 0;
  std::int64_t high_bytes = 0;
};

}  // namespace snug
