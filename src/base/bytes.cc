#include "base/bytes.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "base/error.h"

namespace snug {

std::int64_t checked_mul(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) {
    throw ConfigError(fmt::format("a size of {} x {} does not fit 64 bits", a, b));
  }
  return result;
}

std::int64_t checked_add(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_add_overflow(a, b, &result)) {
    throw ConfigError(fmt::format("a size of {} + {} does not fit 64 bits", a, b));
  }
  return result;
}

std::int64_t align_up(std::int64_t bytes, std::int64_t alignment) {
  return checked_add(bytes, alignment - 1) & ~(alignment - 1);
}

std::string format_bytes(std::int64_t bytes) {
  if (bytes < kKiB) return fmt::format("{} B", bytes);
  const auto value = static_cast<double>(bytes);
  if (bytes < kMiB) return fmt::format("{:.2f} KiB", value / static_cast<double>(kKiB));
  if (bytes < kGiB) return fmt::format("{:.2f} MiB", value / static_cast<double>(kMiB));
  return fmt::format("{:.2f} GiB", value / static_cast<double>(kGiB));
}

std::optional<std::int64_t> parse_bytes(std::string_view text) {
  const std::string copy(text);
  char* end = nullptr;
  const double value = std::strtod(copy.c_str(), &end);
  if (end == copy.c_str() || !std::isfinite(value) || value < 0) return std::nullopt;
  while (*end == ' ') ++end;
  std::string unit;
  for (; *end != '\0'; ++end) {
    unit += static_cast<char>(std::tolower(static_cast<unsigned char>(*end)));
  }
  double scale = 0;
  if (unit.empty() || unit == "b") scale = 1;
  if (unit == "kib" || unit == "k") scale = static_cast<double>(kKiB);
  if (unit == "mib" || unit == "m") scale = static_cast<double>(kMiB);
  if (unit == "gib" || unit == "g") scale = static_cast<double>(kGiB);
  if (unit == "kb") scale = 1e3;
  if (unit == "mb") scale = 1e6;
  if (unit == "gb") scale = 1e9;
  if (scale == 0 || value * scale > 9e18) return std::nullopt;
  return static_cast<std::int64_t>(value * scale);
}

std::optional<double> parse_percent(std::string_view text) {
  if (!text.ends_with('%')) return std::nullopt;
  text.remove_suffix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  double percent = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), percent);
  if (error != std::errc() || stop != text.data() + text.size()) return std::nullopt;
  return percent;
}

std::string with_thousands(std::int64_t number) {
  const std::string digits = std::to_string(number);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const bool after_digit = i > 0 && digits[i - 1] != '-';
    if (after_digit && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string millions(std::int64_t number) {
  return fmt::format("{:.1f}M", static_cast<double>(number) / 1e6);
}

}  // namespace snug
