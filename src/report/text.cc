#include "report/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/own_colour.h"

namespace snug::report {

std::string painted(bool color, const char* code, std::string_view text) {
  return color ? in_colour(code, text) : std::string(text);
}

std::string bar(std::int64_t bytes, std::int64_t max_bytes, int cells) {
  constexpr const char* kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  if (max_bytes <= 0 || bytes <= 0) return "";
  const double share = std::min(1.0, static_cast<double>(bytes) / static_cast<double>(max_bytes));
  const int eighths = std::max(1, static_cast<int>(share * 8 * cells));
  std::string text;
  for (int i = 0; i < eighths / 8; ++i) text += "█";
  return text + kEighths[eighths % 8];
}

std::string escape_html(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

std::string change_text(double ratio) {
  const double percent = (ratio - 1) * 100;
  return std::fabs(percent) < 0.5 ? "0%" : fmt::format("{:+.0f}%", percent);
}

}  // namespace snug::report
