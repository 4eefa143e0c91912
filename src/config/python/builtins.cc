#include "config/python/builtins.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <vector>

#include "config/diagnostic.h"
#include "config/python/arithmetic.h"

namespace snug::config::python {
namespace {

using Arguments = std::span<const Value>;

constexpr double kWholeLimit = 0x1.0p63;
constexpr std::int64_t kMaxDigits = 300;  // no double has more significant decimal places

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  if (text.size() > 1 && text.front() == '+' && text[1] != '-') text.remove_prefix(1);
  return text;
}

template <typename T>
T parsed(const Value& value, std::string_view wanted) {
  const std::string& whole = std::get<std::string>(value);
  const std::string_view text = trimmed(whole);
  T number{};
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || stop != text.data() + text.size() || text.empty()) {
    throw Fault{fmt::format("{} is not {}", shortened(python_repr(value), 40), wanted),
                "int and float read a number written in digits"};
  }
  return number;
}

[[noreturn]] void fail_argument(std::string_view name, const Value& value) {
  throw Fault{fmt::format("{}() does not take {}", name, type_name(value)), "give it a number"};
}

Value plus(const Value& value) { return apply_unary(Operation::kPlus, value); }

bool is_number(const Value& value) {
  return std::holds_alternative<bool>(value) || std::holds_alternative<std::int64_t>(value) ||
         std::holds_alternative<double>(value);
}

Value whole_of(double number) {
  if (!(std::fabs(number) < kWholeLimit)) {
    throw Fault{"the result does not fit 64 bits", "no setting takes a number of that size"};
  }
  return static_cast<std::int64_t>(number);
}

Value call_int(Arguments arguments) {
  const Value& value = arguments[0];
  if (std::holds_alternative<std::string>(value))
    return parsed<std::int64_t>(value, "a whole number");
  if (!is_number(value)) fail_argument("int", value);
  const Value number = plus(value);
  const auto* real = std::get_if<double>(&number);
  return real ? whole_of(std::trunc(*real)) : number;
}

Value call_float(Arguments arguments) {
  const Value& value = arguments[0];
  if (std::holds_alternative<std::string>(value)) return finite(parsed<double>(value, "a number"));
  if (!is_number(value)) fail_argument("float", value);
  const Value number = plus(value);
  const auto* whole = std::get_if<std::int64_t>(&number);
  return whole ? Value(static_cast<double>(*whole)) : number;
}

Value call_str(Arguments arguments) {
  if (std::holds_alternative<PythonSequence>(arguments[0])) fail_argument("str", arguments[0]);
  return python_str(arguments[0]);
}

Value call_abs(Arguments arguments) {
  if (!is_number(arguments[0])) fail_argument("abs", arguments[0]);
  const Value number = plus(arguments[0]);
  const bool negative = apply_comparison(Operation::kLess, number, std::int64_t{0});
  return negative ? apply_unary(Operation::kMinus, number) : number;
}

// As Python: halves go to the even neighbour; with digits, the exact decimal value decides.
Value call_round(Arguments arguments) {
  if (!is_number(arguments[0])) fail_argument("round", arguments[0]);
  Value number = plus(arguments[0]);
  const auto* real = std::get_if<double>(&number);
  if (arguments.size() == 1) return real ? whole_of(std::nearbyint(*real)) : number;
  const auto* digits = std::get_if<std::int64_t>(&arguments[1]);
  if (!digits || *digits < 0) {
    throw Fault{"round() takes a whole number of digits, 0 or more", "write it as round(x, 2)"};
  }
  if (!real || *digits > kMaxDigits) return number;
  return std::strtod(fmt::format("{:.{}f}", *real, *digits).c_str(), nullptr);
}

// The first of the smallest (or largest), as Python.
Value pick(Arguments arguments, Operation better) {
  const Value* best = &arguments[0];
  for (const Value& candidate : arguments.subspan(1)) {
    if (apply_comparison(better, candidate, *best)) best = &candidate;
  }
  return *best;
}

Value call_min(Arguments arguments) { return pick(arguments, Operation::kLess); }
Value call_max(Arguments arguments) { return pick(arguments, Operation::kGreater); }

Value call_time(Arguments) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

struct Builtin {
  std::string_view name;
  std::size_t min_arguments;
  std::size_t max_arguments;
  Value (*call)(Arguments);
};

constexpr Builtin kBuiltins[] = {
    {"int", 1, 1, call_int},    {"float", 1, 1, call_float},    {"str", 1, 1, call_str},
    {"min", 2, 1000, call_min}, {"max", 2, 1000, call_max},     {"round", 1, 2, call_round},
    {"abs", 1, 1, call_abs},    {"time.time", 0, 0, call_time},
};

const Builtin* find_builtin(std::string_view name) {
  const auto at = std::find_if(std::begin(kBuiltins), std::end(kBuiltins),
                               [&](const Builtin& builtin) { return builtin.name == name; });
  return at == std::end(kBuiltins) ? nullptr : at;
}

}  // namespace

bool is_builtin(std::string_view name) { return find_builtin(name) != nullptr; }

std::string builtin_names() {
  std::vector<std::string_view> names;
  for (const Builtin& builtin : kBuiltins) names.push_back(builtin.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

Value call_builtin(std::string_view name, std::span<const Value> arguments) {
  const Builtin& builtin = *find_builtin(name);
  if (arguments.size() < builtin.min_arguments || arguments.size() > builtin.max_arguments) {
    throw Fault{fmt::format("{}() does not take {} values", name, arguments.size()),
                builtin.min_arguments == 0   ? "leave the parentheses empty"
                : builtin.min_arguments == 1 ? "give it one number"
                                             : "give it two numbers or more"};
  }
  return builtin.call(arguments);
}

}  // namespace snug::config::python
