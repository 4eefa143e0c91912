// The syntax tree of a config: expressions, and the assignments that use them.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "config/source_file.h"
#include "config/value.h"

namespace snug::config::python {

enum class Operation {
  // clang-format off
  kAdd, kSubtract, kMultiply, kDivide, kFloorDivide, kModulo, kPower,
  kPlus, kMinus, kNot,
  kAnd, kOr,
  kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual,
  // clang-format on
};

struct Expression {
  enum class Kind { kLiteral, kName, kUnary, kBinary, kLogical, kComparison, kConditional, kCall };
  Kind kind = Kind::kLiteral;
  Extent extent;
  Value literal;                      // kLiteral
  std::string name;                   // kName; kCall: the function, dotted for time.time
  std::vector<Operation> operations;  // one, but kComparison: one between each two operands
  std::vector<std::unique_ptr<Expression>> operands;  // kConditional: value, condition, other
  int height = 1;                                     // 1 + the highest operand's
};
using ExpressionPtr = std::unique_ptr<Expression>;

// Bounds the recursion of the parser, of the evaluator and of destruction.
constexpr int kMaxNesting = 200;
constexpr int kMaxHeight = 400;

// Maximum length of a string, written or computed; longer prompts belong in a file
// (start = 'FILE:...').
constexpr std::size_t kMaxTextBytes = std::size_t{1} << 14;

struct AssignmentTarget {
  std::string name;
  Extent extent;
};

// a = b = value, or with an operation: a += value.
struct Assignment {
  std::vector<AssignmentTarget> targets;
  std::optional<Operation> operation;
  ExpressionPtr value;
};

struct Module {
  std::vector<Assignment> assignments;
  std::set<std::string, std::less<>> names_read;
};

}  // namespace snug::config::python
