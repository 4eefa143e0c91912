// Widths and numbers of heads that go together: suggestions for a pair that does not.
#pragma once

#include <cstdint>

namespace snug::config {

// The divisor of `whole` nearest to `wish`; of two equally near ones the smaller. Both are at
// least 1.
std::int64_t nearest_divisor(std::int64_t whole, std::int64_t wish);

// The width nearest to `width` that gives each of `heads` a multiple of 8, as fast kernels want it,
// where one is within a quarter of `width`; else the nearest multiple of `heads`.
std::int64_t nearest_width(std::int64_t width, std::int64_t heads);

}  // namespace snug::config
