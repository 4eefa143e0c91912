#include "config/python/arithmetic.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <optional>

#include "config/diagnostic.h"

namespace snug::config::python {
namespace {

Fault too_long() { return {"the string becomes too long", "a string has at most 16 KiB"}; }

std::string_view verb(Operation operation) {
  switch (operation) {
    case Operation::kAdd:
      return "added";
    case Operation::kSubtract:
      return "subtracted";
    case Operation::kMultiply:
      return "multiplied";
    case Operation::kPower:
      return "raised to a power";
    default:
      return "divided";
  }
}

std::optional<std::int64_t> as_whole(const Value& value) {
  if (const auto* b = std::get_if<bool>(&value)) return *b ? 1 : 0;
  if (const auto* i = std::get_if<std::int64_t>(&value)) return *i;
  return std::nullopt;
}

std::optional<double> as_real(const Value& value) {
  if (const auto* d = std::get_if<double>(&value)) return *d;
  const auto whole = as_whole(value);
  return whole ? std::optional(static_cast<double>(*whole)) : std::nullopt;
}

Fault overflow() {
  return {"the result does not fit 64 bits", "no setting takes a number of that size"};
}

Fault division_by_zero() { return {"division by zero", "the divisor here is 0"}; }

std::int64_t power_whole(std::int64_t base, std::int64_t exponent) {
  std::int64_t result = 1;
  while (true) {
    if ((exponent & 1) != 0 && __builtin_mul_overflow(result, base, &result)) throw overflow();
    exponent >>= 1;
    if (exponent == 0) return result;
    if (__builtin_mul_overflow(base, base, &base)) throw overflow();
  }
}

// Division that rounds down, and its remainder, which has the divisor's sign.
std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  if (b == 0) throw division_by_zero();
  if (b == -1) {
    if (a == std::numeric_limits<std::int64_t>::min()) throw overflow();
    return -a;
  }
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

std::int64_t modulo(std::int64_t a, std::int64_t b) {
  if (b == 0) throw division_by_zero();
  if (b == -1) return 0;
  const std::int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

double modulo(double a, double b) {
  const double rest = std::fmod(a, b);
  if (rest == 0) return std::copysign(0.0, b);
  return (rest < 0) != (b < 0) ? rest + b : rest;
}

double power_real(double base, double exponent) {
  if (base == 0 && exponent < 0) throw division_by_zero();
  if (base < 0 && std::floor(exponent) != exponent) {
    throw Fault{"the power is not a real number", "a negative number takes only whole powers"};
  }
  return std::pow(base, exponent);
}

double apply_real(Operation operation, double a, double b) {
  switch (operation) {
    case Operation::kAdd:
      return a + b;
    case Operation::kSubtract:
      return a - b;
    case Operation::kMultiply:
      return a * b;
    case Operation::kPower:
      return power_real(a, b);
    default:
      break;
  }
  if (b == 0) throw division_by_zero();
  if (operation == Operation::kDivide) return a / b;
  if (operation == Operation::kModulo) return modulo(a, b);
  // The quotient of the exact remainder: 1 // 0.1 is 9, though 1 / 0.1 is 10.
  return std::round((a - modulo(a, b)) / b);
}

Value apply_whole(Operation operation, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  bool wrapped = false;
  switch (operation) {
    case Operation::kAdd:
      wrapped = __builtin_add_overflow(a, b, &result);
      break;
    case Operation::kSubtract:
      wrapped = __builtin_sub_overflow(a, b, &result);
      break;
    case Operation::kMultiply:
      wrapped = __builtin_mul_overflow(a, b, &result);
      break;
    case Operation::kFloorDivide:
      return floor_divide(a, b);
    case Operation::kModulo:
      return modulo(a, b);
    case Operation::kPower:
      if (b >= 0) return power_whole(a, b);
      [[fallthrough]];
    default:
      return finite(apply_real(operation, static_cast<double>(a), static_cast<double>(b)));
  }
  if (wrapped) throw overflow();
  return result;
}

std::string repeated(const std::string& text, std::int64_t count) {
  if (count <= 0 || text.empty()) return "";
  if (count > static_cast<std::int64_t>(kMaxTextBytes / text.size())) {
    throw too_long();
  }
  std::string result;
  for (std::int64_t i = 0; i < count; ++i) result += text;
  return result;
}

// Nothing when the operation is none of strings.
std::optional<Value> apply_text(Operation operation, const Value& left, const Value& right) {
  const auto* a = std::get_if<std::string>(&left);
  const auto* b = std::get_if<std::string>(&right);
  if (operation == Operation::kModulo && a) {
    throw Fault{"% does not format strings here", "join the parts with + and str(...)"};
  }
  if (operation == Operation::kAdd && a && b) {
    if (a->size() + b->size() > kMaxTextBytes) {
      throw too_long();
    }
    return *a + *b;
  }
  if (operation == Operation::kMultiply && a && as_whole(right))
    return repeated(*a, *as_whole(right));
  if (operation == Operation::kMultiply && b && as_whole(left))
    return repeated(*b, *as_whole(left));
  return std::nullopt;
}

Fault mismatch(Operation operation, const Value& left, const Value& right) {
  const bool text =
      std::holds_alternative<std::string>(left) || std::holds_alternative<std::string>(right);
  return {fmt::format("{} and {} cannot be {}", type_name(left), type_name(right), verb(operation)),
          text && operation == Operation::kAdd ? "turn the number into text with str(...)"
                                               : "arithmetic takes numbers"};
}

template <typename T>
bool compare(Operation operation, const T& a, const T& b) {
  switch (operation) {
    case Operation::kEqual:
      return a == b;
    case Operation::kNotEqual:
      return a != b;
    case Operation::kLess:
      return a < b;
    case Operation::kLessEqual:
      return a <= b;
    case Operation::kGreater:
      return a > b;
    default:
      return a >= b;
  }
}

}  // namespace

Value finite(double number) {
  if (!std::isfinite(number))
    throw Fault{"the result is not a finite number", "no setting takes inf or nan"};
  return number;
}

Value apply_binary(Operation operation, const Value& left, const Value& right) {
  if (auto text = apply_text(operation, left, right)) return *std::move(text);
  const auto a = as_whole(left), b = as_whole(right);
  if (a && b) return apply_whole(operation, *a, *b);
  const auto x = as_real(left), y = as_real(right);
  if (!x || !y) throw mismatch(operation, left, right);
  return finite(apply_real(operation, *x, *y));
}

Value apply_unary(Operation operation, const Value& operand) {
  if (operation == Operation::kNot) return !is_true(operand);
  const auto whole = as_whole(operand);
  if (whole && operation == Operation::kPlus) return *whole;
  if (whole) return apply_whole(Operation::kSubtract, 0, *whole);
  const auto real = as_real(operand);
  if (!real) {
    throw Fault{fmt::format("{} has no sign", type_name(operand)), "+ and - take a number"};
  }
  return operation == Operation::kPlus ? *real : -*real;
}

bool apply_comparison(Operation operation, const Value& left, const Value& right) {
  const auto a = as_whole(left), b = as_whole(right);
  if (a && b) return compare(operation, *a, *b);
  const auto x = as_real(left), y = as_real(right);
  if (x && y) return compare(operation, *x, *y);
  const auto* s = std::get_if<std::string>(&left);
  const auto* t = std::get_if<std::string>(&right);
  if (s && t) return compare(operation, *s, *t);
  const bool equality = operation == Operation::kEqual || operation == Operation::kNotEqual;
  const bool sequence =
      std::holds_alternative<PythonSequence>(left) || std::holds_alternative<PythonSequence>(right);
  if (!equality || sequence) {
    throw Fault{fmt::format("{} and {} cannot be compared", type_name(left), type_name(right)),
                "compare numbers with numbers and strings with strings"};
  }
  const bool both_none = left.index() == right.index();  // all other equal types are done
  return both_none == (operation == Operation::kEqual);
}

}  // namespace snug::config::python
