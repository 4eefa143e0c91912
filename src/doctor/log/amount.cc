#include "doctor/log/amount.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/bytes.h"
#include "doctor/log/text.h"

namespace snug::doctor::log {
namespace {

// 128 bits hold a mantissa of 18 digits times 2^40 and leave room for the rounding term.
using Wide = __int128;

struct Number {
  std::int64_t mantissa = 0;
  int decimals = 0;
  bool overflows = false;
  std::size_t end = 0;
};

std::size_t digit_run(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && is_digit(text[end])) ++end;
  return end - at;
}

// A comma parts thousands when exactly three digits follow it.
bool parts_thousands(std::string_view text, std::size_t comma) {
  return text[comma] == ',' && digit_run(text, comma + 1) == 3;
}

void add_digits(Number& number, std::string_view digits) {
  for (const char digit : digits) {
    if (number.mantissa >= 100'000'000'000'000'000) {
      number.overflows = true;
      return;
    }
    number.mantissa = number.mantissa * 10 + (digit - '0');
  }
}

Number parse_number(std::string_view text, std::size_t at) {
  Number number;
  std::size_t run = digit_run(text, at);
  add_digits(number, text.substr(at, run));
  at += run;
  while (at < text.size() && run <= 3 && parts_thousands(text, at)) {
    add_digits(number, text.substr(at + 1, 3));
    at += 4;
  }
  const bool has_mark = at < text.size() && (text[at] == '.' || text[at] == ',');
  run = has_mark ? digit_run(text, at + 1) : 0;
  if (run > 0) {
    const std::size_t kept = std::min<std::size_t>(run, 4);
    add_digits(number, text.substr(at + 1, kept));
    number.decimals = static_cast<int>(kept);
    at += 1 + run;
  }
  number.end = at;
  return number;
}

struct Unit {
  std::string_view text;
  int shift;
};
// Longest first within a letter. "gi" is a "GiB" cut at the end of a paste.
constexpr std::array<Unit, 18> kUnits{{{"bytes", 0},
                                       {"byte", 0},
                                       {"kib", 10},
                                       {"kb", 10},
                                       {"ki", 10},
                                       {"mib", 20},
                                       {"mb", 20},
                                       {"mi", 20},
                                       {"gib", 30},
                                       {"gb", 30},
                                       {"gi", 30},
                                       {"tib", 40},
                                       {"tb", 40},
                                       {"ti", 40},
                                       {"g(", 30},
                                       {"m(", 20},
                                       {"g.", 30},
                                       {"m.", 20}}};

std::optional<Unit> unit_at(std::string_view text, std::size_t at) {
  const std::string_view rest = text.substr(std::min(at, text.size()));
  for (const Unit& unit : kUnits) {
    if (!rest.starts_with(unit.text)) continue;
    const bool is_cut = unit.text.size() == 2 && unit.text[1] == 'i';
    if (is_cut && rest.size() > 2) continue;
    return unit;
  }
  return std::nullopt;
}

Wide power_of_ten(int exponent) {
  Wide power = 1;
  for (int i = 0; i < exponent; ++i) power *= 10;
  return power;
}

// Every integer n whose n / unit prints as the number: within half of its last digit. Nothing when
// there is none, or none that is below 2^62.
std::optional<LogCount> range_of(const Number& number, std::int64_t unit) {
  if (number.overflows) return std::nullopt;
  const Wide twice = 2 * power_of_ten(number.decimals);
  const Wide low = (2 * Wide{number.mantissa} - 1) * unit;
  const Wide high = (2 * Wide{number.mantissa} + 1) * unit / twice;
  if (high > std::numeric_limits<std::int64_t>::max() / 2) return std::nullopt;
  const Wide rounded_low = low <= 0 ? 0 : (low + twice - 1) / twice;
  if (rounded_low > high) return std::nullopt;
  return LogCount{static_cast<std::int64_t>(rounded_low), static_cast<std::int64_t>(high)};
}

std::optional<LogAmount> amount_of(const Number& number, const Unit& unit) {
  // The kernel prints whole pages in kB, PyTorch two decimals: a whole kB is exact.
  const bool is_exact = number.decimals == 0 && unit.shift <= 10;
  const std::int64_t scale = std::int64_t{1} << unit.shift;
  const std::optional<LogCount> range = range_of(number, scale);
  if (!range) return std::nullopt;
  if (is_exact) return LogAmount{number.mantissa * scale, number.mantissa * scale};
  return LogAmount{range->low, range->high};
}

}  // namespace

std::optional<ParsedAmount> parse_amount(std::string_view text, std::size_t at, UnitRule rule) {
  const Number number = parse_number(text, at);
  const std::optional<Unit> unit = unit_at(text, number.end);
  if (!unit && rule == UnitRule::kRequired) return std::nullopt;
  const Unit used = unit.value_or(Unit{"", 0});
  std::size_t length = used.text.size();
  if (!used.text.empty() && (used.text.back() == '(' || used.text.back() == '.')) --length;
  return ParsedAmount{amount_of(number, used), number.end + length};
}

std::optional<std::int64_t> parse_count(std::string_view text, std::size_t& at) {
  if (at >= text.size() || !is_digit(text[at])) return std::nullopt;
  Number number;
  std::size_t run = digit_run(text, at);
  add_digits(number, text.substr(at, run));
  at += run;
  while (at < text.size() && run <= 3 && parts_thousands(text, at)) {
    add_digits(number, text.substr(at + 1, 3));
    at += 4;
  }
  if (number.overflows) return std::nullopt;
  return number.mantissa;
}

std::optional<LogCount> parse_short_count(std::string_view text) {
  if (text.empty() || !is_digit(text.front())) return std::nullopt;
  const Number number = parse_number(text, 0);
  const char suffix = number.end < text.size() ? text[number.end] : ' ';
  const std::int64_t scale = suffix == 'K'   ? 1'000
                             : suffix == 'M' ? 1'000'000
                             : suffix == 'B' ? 1'000'000'000
                                             : 1;
  const bool is_whole = scale == 1 && number.decimals == 0 && !number.overflows;
  if (is_whole) return LogCount{number.mantissa, number.mantissa};
  return range_of(number, scale);
}

}  // namespace snug::doctor::log
