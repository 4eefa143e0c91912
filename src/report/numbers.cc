#include "report/numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/bytes.h"

namespace snug::report {

std::string number_in(Language language, std::string text) {
  if (language != Language::kGerman) return text;
  for (char& c : text) c = c == '.' ? ',' : c == ',' ? '.' : c;
  return text;
}

namespace {

// German writes a blank between number and unit, also before %; no line breaks there.
constexpr std::string_view kGermanMillions = "\u00A0Mio.", kGermanPercent = "\u00A0%";

// "1,234,567": three digits after every comma, and no point.
bool has_parted_thousands(std::string_view text) {
  std::size_t comma = text.find(',');
  if (comma == text.npos || text.find('.') != text.npos) return false;
  for (; comma != text.npos; text.remove_prefix(comma + 1), comma = text.find(',')) {
    const std::size_t next = std::min(text.find(',', comma + 1), text.size());
    if (comma == 0 || next - comma != 4) return false;
  }
  return true;
}

std::string with_unit(Language language, std::string number, std::string_view unit,
                      std::string_view german) {
  return number_in(language, std::move(number)) +
         std::string(language == Language::kGerman ? german : unit);
}

}  // namespace

std::string amount_in(Language language, std::string text) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (text.size() < 2 || !is_digit(text.front())) return text;
  const std::size_t number = text.find_first_not_of("0123456789.,");
  if (number == std::string::npos) {
    return has_parted_thousands(text) ? number_in(language, std::move(text)) : text;
  }
  const std::string unit = text.substr(number);
  if (unit == "M") return with_unit(language, text.substr(0, number), "M", kGermanMillions);
  if (unit == "%") return with_unit(language, text.substr(0, number), "%", kGermanPercent);
  const bool is_bytes = unit == " B" || unit.ends_with("iB");
  return is_bytes ? number_in(language, std::move(text)) : text;
}

std::string millions_in(Language language, std::int64_t number) {
  return amount_in(language, millions(number));
}

std::string percent_in(Language language, double percent, int decimals) {
  return amount_in(language, fmt::format("{:.{}f}%", percent, decimals));
}

std::string bytes_in(Language language, std::int64_t bytes) {
  return number_in(language, format_bytes(bytes));
}

std::string thousands_in(Language language, std::int64_t number) {
  return number_in(language, with_thousands(number));
}

std::string gib_in(Language language, std::int64_t bytes) {
  return number_in(language,
                   fmt::format("{:.2f}", static_cast<double>(bytes) / static_cast<double>(kGiB)));
}

}  // namespace snug::report
