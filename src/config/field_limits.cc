#include "config/field_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <span>

#include "base/bytes.h"

namespace snug::config {
namespace {

std::string number_text(double number) {
  if (number == 1e6 || number == 1e9) return number == 1e6 ? "1e6" : "1e9";
  const bool whole = std::floor(number) == number && std::fabs(number) < 1e15;
  return whole ? with_thousands(static_cast<std::int64_t>(number)) : fmt::format("{}", number);
}

std::string check_one_of(const std::string& text, std::span<const std::string_view> allowed) {
  if (std::find(allowed.begin(), allowed.end(), text) != allowed.end()) return "";
  return fmt::format("it can be {}", fmt::join(allowed, ", "));
}

bool is_all_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

std::string limit_text(const Limit& limit) {
  if (limit.check) return std::string(limit.text);
  const bool has_low = std::isfinite(limit.low), has_high = std::isfinite(limit.high);
  if (has_low && has_high) {
    return fmt::format("{}{} to {}{}", limit.low_open ? "above " : "", number_text(limit.low),
                       limit.high_open ? "below " : "", number_text(limit.high));
  }
  if (!has_low) return "";
  return limit.low_open ? "above " + number_text(limit.low) : number_text(limit.low) + " or more";
}

std::string check_path(const std::string& text) {
  if (text.empty()) return "it must not be empty";
  return text.find('\0') == std::string::npos ? "" : "a path cannot hold a zero byte";
}

std::string check_init_from(const std::string& text) {
  constexpr std::array<std::string_view, 6> kAllowed = {"scratch",     "resume",     "gpt2",
                                                        "gpt2-medium", "gpt2-large", "gpt2-xl"};
  const bool is_path = text.find_first_of("/.") != std::string::npos;
  if (is_path) return check_path(text);
  const std::string advice = check_one_of(text, kAllowed);
  std::error_code ignored;
  if (advice.empty() || std::filesystem::exists(text, ignored)) return "";
  return advice + ", or the path of a model, such as ./my-gpt2";
}

std::string check_device(const std::string& text) {
  constexpr std::array<std::string_view, 4> kAllowed = {"auto", "cpu", "cuda", "emulated"};
  if (text == "mps") return "Apple's GPU (mps) has no backend here: 'cpu' works on a Mac";
  const std::string_view index =
      std::string_view(text).substr(std::min<std::size_t>(5, text.size()));
  if (text.starts_with("cuda:") && is_all_digits(index) && index.size() <= 3) return "";
  const std::string advice = check_one_of(text, kAllowed);
  return advice.empty() ? "" : advice + ", cuda:0, cuda:1, ...";
}

std::string check_dtype(const std::string& text) {
  constexpr std::array<std::string_view, 5> kAllowed = {"auto", "float32", "tf32", "bfloat16",
                                                        "float16"};
  return check_one_of(text, kAllowed);
}

std::string check_color(const std::string& text) {
  constexpr std::array<std::string_view, 3> kAllowed = {"auto", "always", "never"};
  return check_one_of(text, kAllowed);
}

std::string check_lang(const std::string& text) {
  constexpr std::array<std::string_view, 5> kAllowed = {"auto", "en", "zh", "ja", "de"};
  return check_one_of(text, kAllowed);
}

std::string check_optimizer_dtype(const std::string& text) {
  constexpr std::array<std::string_view, 2> kAllowed = {"float32", "bfloat16"};
  return check_one_of(text, kAllowed);
}

std::string check_gelu(const std::string& text) {
  constexpr std::array<std::string_view, 2> kAllowed = {"erf", "tanh"};
  return check_one_of(text, kAllowed);
}

std::string check_headroom(const std::string& text) {
  if (text == "auto") return "";
  if (const auto percent = parse_percent(text)) {
    return *percent >= 0 && *percent < 100 ? "" : "a headroom lies between 0% and 100%";
  }
  // A bare 10 is meant as a share, and would be ten bytes.
  const auto bytes = parse_bytes(text);
  const bool is_meant = bytes && (*bytes == 0 || *bytes >= 100);
  return is_meant ? "" : "write a share such as 10%, or a size such as 512MiB";
}

std::string check_memory_budget(const std::string& text) {
  if (text == "auto") return "";
  if (text.ends_with('%')) {
    const auto percent = parse_percent(text);
    if (percent && *percent > 0 && *percent <= 100) return "";
    return "a share of the memory is written as 80%, above 0% and up to 100%";
  }
  const auto bytes = parse_bytes(text);
  const bool has_unit = !text.empty() && std::isalpha(static_cast<unsigned char>(text.back())) != 0;
  if (bytes && *bytes > 0 && *bytes < kKiB && !has_unit) {
    return fmt::format("{} is a number of bytes; write {}GiB", text, text);
  }
  if (bytes && *bytes > 0) return "";
  return "write a size such as 12GiB or 800MiB, a share such as 80%, or auto";
}

}  // namespace snug::config
