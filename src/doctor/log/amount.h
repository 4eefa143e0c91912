// Amounts and counts as logs print them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "doctor/log/summary.h"

namespace snug::doctor::log {

enum class UnitRule : std::uint8_t { kRequired, kBytesIfAbsent };

struct ParsedAmount {
  // Nothing for a number no memory has: under WDDM the driver's "not available" is 2^64 bytes.
  std::optional<LogAmount> amount;
  std::size_t end = 0;  // after the unit
};

// The amount at `at` of a folded text, where a digit stands. Units: bytes, and KiB or KB, K and so
// on, all powers of 1024. A comma is a decimal comma unless it parts thousands. Nothing when there
// is no unit and the rule requires one.
std::optional<ParsedAmount> parse_amount(std::string_view text, std::size_t at, UnitRule rule);

// The whole number at `at`, commas between thousands allowed; moves `at` after it. Nothing when no
// digit is there or it does not fit.
std::optional<std::int64_t> parse_count(std::string_view text, std::size_t& at);

// "123.59M", "1.5B", "350K", "4,992": the counts that print so.
std::optional<LogCount> parse_short_count(std::string_view text);

}  // namespace snug::doctor::log
