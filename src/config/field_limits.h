// What values a key may take: an interval of numbers, or a check of text.
#pragma once

#include <limits>
#include <string>
#include <string_view>

namespace snug::config {

struct Limit {
  // Returns what to do about an unacceptable text; empty when it is acceptable.
  using TextCheck = std::string (*)(const std::string& text);

  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_open = false;   // low itself is excluded
  bool high_open = false;  // high itself is excluded
  TextCheck check = nullptr;
  std::string_view text = {};  // the allowed texts as help shows them

  // NaN is never allowed.
  bool allows(double number) const {
    return (low_open ? number > low : number >= low) &&
           (high_open ? number < high : number <= high);
  }
};

constexpr Limit any_value() { return {}; }
constexpr Limit between(double low, double high) { return {.low = low, .high = high}; }
constexpr Limit at_least(double low) { return {.low = low}; }
constexpr Limit above(double low) { return {.low = low, .low_open = true}; }
constexpr Limit fraction() { return {.low = 0, .high = 1, .high_open = true}; }
constexpr Limit checked(Limit::TextCheck check, std::string_view text) {
  return {.check = check, .text = text};
}

// "1 to 512", "above 0", "0 or more", "0 to below 1", "auto, cpu, cuda"; empty without a limit.
std::string limit_text(const Limit& limit);

// The checks of text keys.
std::string check_path(const std::string& text);
std::string check_init_from(const std::string& text);
std::string check_device(const std::string& text);
std::string check_dtype(const std::string& text);
std::string check_color(const std::string& text);
std::string check_lang(const std::string& text);
std::string check_memory_budget(const std::string& text);
std::string check_headroom(const std::string& text);
std::string check_optimizer_dtype(const std::string& text);
std::string check_gelu(const std::string& text);

}  // namespace snug::config
