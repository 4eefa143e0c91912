// Byte arithmetic that cannot overflow silently, and byte counts as people read and write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace snug {

constexpr std::int64_t kKiB = std::int64_t{1} << 10;
constexpr std::int64_t kMiB = std::int64_t{1} << 20;
constexpr std::int64_t kGiB = std::int64_t{1} << 30;

// Both throw ConfigError when the result does not fit 63 bits: only a config can ask for that much.
std::int64_t checked_mul(std::int64_t a, std::int64_t b);
std::int64_t checked_add(std::int64_t a, std::int64_t b);

// Rounds up to a multiple of `alignment`, a power of two.
std::int64_t align_up(std::int64_t bytes, std::int64_t alignment);

// "512 B", "12.50 KiB", "3.20 MiB", "1.96 GiB".
std::string format_bytes(std::int64_t bytes);

// "12GiB", "800MiB", "12GB" (powers of ten), "4096"; nothing when it does not parse or is negative.
std::optional<std::int64_t> parse_bytes(std::string_view text);

// "80%" -> 80; nothing unless it is a number followed by the sign.
std::optional<double> parse_percent(std::string_view text);

// 1234567 -> "1,234,567".
std::string with_thousands(std::int64_t number);

std::string millions(std::int64_t number);  // "123.6M"

}  // namespace snug
