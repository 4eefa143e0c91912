// Whole-number arithmetic that the language lacks. For byte counts that may overflow see bytes.h.
#pragma once

#include <cstdint>

namespace snug {

// For a >= 0 and b > 0.
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
constexpr std::int64_t round_up(std::int64_t a, std::int64_t b) { return ceil_div(a, b) * b; }

}  // namespace snug
