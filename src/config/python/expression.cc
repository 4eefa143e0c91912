#include "config/python/expression.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "config/python/builtins.h"
#include "config/python/literals.h"
#include "config/python/subset.h"

namespace snug::config::python {
namespace {

using Kind = Expression::Kind;

Fault too_deep() {
  return {"the expression is too long or too deeply nested",
          "compute it in steps, with a name for each"};
}

struct Sign {
  std::string_view text;
  Operation operation;
  int precedence;
};

constexpr int kAdditive = 1, kMultiplicative = 2;

constexpr Sign kBinarySigns[] = {
    {"+", Operation::kAdd, kAdditive},
    {"-", Operation::kSubtract, kAdditive},
    {"*", Operation::kMultiply, kMultiplicative},
    {"/", Operation::kDivide, kMultiplicative},
    {"//", Operation::kFloorDivide, kMultiplicative},
    {"%", Operation::kModulo, kMultiplicative},
};

constexpr Sign kComparisonSigns[] = {
    {"==", Operation::kEqual, 0},  {"!=", Operation::kNotEqual, 0},
    {"<", Operation::kLess, 0},    {"<=", Operation::kLessEqual, 0},
    {">", Operation::kGreater, 0}, {">=", Operation::kGreaterEqual, 0},
};

const Sign* find_sign(const TokenCursor& cursor, std::span<const Sign> signs) {
  const auto at = std::find_if(signs.begin(), signs.end(),
                               [&](const Sign& sign) { return cursor.is_sign(sign.text); });
  return at == signs.end() ? nullptr : &*at;
}

// Counts the parser's own recursion.
class Nesting {
 public:
  Nesting(int& depth, const TokenCursor& cursor) : depth_(depth) {
    if (depth_ >= kMaxNesting) cursor.fail(too_deep());
    ++depth_;
  }
  ~Nesting() { --depth_; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;

 private:
  int& depth_;
};

template <typename... Parts>
std::vector<ExpressionPtr> list_of(Parts... parts) {
  std::vector<ExpressionPtr> list;
  (list.push_back(std::move(parts)), ...);
  return list;
}

}  // namespace

ExpressionPtr ExpressionParser::node(Kind kind, std::size_t begin,
                                     std::vector<ExpressionPtr> operands) const {
  auto made = std::make_unique<Expression>();
  made->kind = kind;
  made->extent = {begin, cursor_.last_end()};
  for (const ExpressionPtr& operand : operands) {
    made->height = std::max(made->height, operand->height + 1);
  }
  made->operands = std::move(operands);
  if (made->height > kMaxHeight) cursor_.source().fail(made->extent, too_deep());
  return made;
}

ExpressionPtr ExpressionParser::parse_tuple_or_value() {
  ExpressionPtr value = parse();
  if (!cursor_.is_sign(",")) return value;
  const std::size_t begin = value->extent.begin;
  while (cursor_.take_sign(",")) {
    if (cursor_.is_kind(Token::Kind::kNewline) || cursor_.is_sign(";")) break;
    value = parse();
  }
  ExpressionPtr tuple = node(Kind::kLiteral, begin, {});
  tuple->literal = PythonSequence{.is_tuple = true};
  return tuple;
}

ExpressionPtr ExpressionParser::parse() {
  const Nesting nesting(nesting_, cursor_);
  if (cursor_.is_word("lambda")) cursor_.fail(outside_subset("lambda"));
  ExpressionPtr value = parse_logical(Operation::kOr);
  if (!cursor_.take_word("if")) return value;
  ExpressionPtr condition = parse_logical(Operation::kOr);
  if (!cursor_.take_word("else")) {
    cursor_.fail({"`else` is missing", "a choice needs all its parts: a if condition else b"});
  }
  ExpressionPtr other = parse();
  const std::size_t begin = value->extent.begin;
  return node(Kind::kConditional, begin,
              list_of(std::move(value), std::move(condition), std::move(other)));
}

ExpressionPtr ExpressionParser::parse_logical(Operation operation) {
  const bool is_or = operation == Operation::kOr;
  const auto operand = [&] { return is_or ? parse_logical(Operation::kAnd) : parse_not(); };
  ExpressionPtr left = operand();
  while (cursor_.take_word(is_or ? "or" : "and")) {
    ExpressionPtr right = operand();
    const std::size_t begin = left->extent.begin;
    left = node(Kind::kLogical, begin, list_of(std::move(left), std::move(right)));
    left->operations = {operation};
  }
  return left;
}

ExpressionPtr ExpressionParser::parse_not() {
  const std::size_t begin = cursor_.peek().extent.begin;
  if (!cursor_.take_word("not")) return parse_comparison();
  const Nesting nesting(nesting_, cursor_);
  ExpressionPtr made = node(Kind::kUnary, begin, list_of(parse_not()));
  made->operations = {Operation::kNot};
  return made;
}

ExpressionPtr ExpressionParser::parse_comparison() {
  ExpressionPtr first = parse_binary(kAdditive);
  const std::size_t begin = first->extent.begin;
  std::vector<Operation> operations;
  std::vector<ExpressionPtr> operands = list_of(std::move(first));
  while (const Sign* sign = find_sign(cursor_, kComparisonSigns)) {
    cursor_.take();
    operations.push_back(sign->operation);
    operands.push_back(parse_binary(kAdditive));
  }
  if (operations.empty()) return std::move(operands.front());
  ExpressionPtr made = node(Kind::kComparison, begin, std::move(operands));
  made->operations = std::move(operations);
  return made;
}

ExpressionPtr ExpressionParser::parse_binary(int min_precedence) {
  ExpressionPtr left = parse_factor();
  while (const Sign* sign = find_sign(cursor_, kBinarySigns)) {
    if (sign->precedence < min_precedence) break;
    cursor_.take();
    ExpressionPtr right = parse_binary(sign->precedence + 1);
    const std::size_t begin = left->extent.begin;
    left = node(Kind::kBinary, begin, list_of(std::move(left), std::move(right)));
    left->operations = {sign->operation};
  }
  return left;
}

// A sign binds weaker than ** on its right: -2 ** 2 is -4, and 2 ** -1 is 0.5.
ExpressionPtr ExpressionParser::parse_factor() {
  const Nesting nesting(nesting_, cursor_);
  const std::size_t begin = cursor_.peek().extent.begin;
  if (cursor_.is_sign("-") || cursor_.is_sign("+")) {
    const bool minus = cursor_.is_sign("-");
    cursor_.take();
    ExpressionPtr made = node(Kind::kUnary, begin, list_of(parse_factor()));
    made->operations = {minus ? Operation::kMinus : Operation::kPlus};
    return made;
  }
  ExpressionPtr base = parse_atom();
  refuse_suffix();
  if (!cursor_.take_sign("**")) return base;
  ExpressionPtr exponent = parse_factor();
  ExpressionPtr made = node(Kind::kBinary, begin, list_of(std::move(base), std::move(exponent)));
  made->operations = {Operation::kPower};
  return made;
}

ExpressionPtr ExpressionParser::parse_atom() {
  const Token& token = cursor_.peek();
  switch (token.kind) {
    case Token::Kind::kNumber: {
      const Value number = decode_number(cursor_.source(), token);
      cursor_.take();
      ExpressionPtr made = node(Kind::kLiteral, token.extent.begin, {});
      made->literal = number;
      return made;
    }
    case Token::Kind::kString:
      return parse_strings();
    case Token::Kind::kName:
      return parse_name();
    default:
      break;
  }
  if (cursor_.is_sign("(") || cursor_.is_sign("[")) return parse_bracketed();
  cursor_.fail_unexpected();
}

// 'a' 'b' is 'ab'.
// Neighbours are one string; the names of an f-string are added to it as str(name).
ExpressionPtr ExpressionParser::parse_strings() {
  const std::size_t begin = cursor_.peek().extent.begin;
  ExpressionPtr whole;
  std::string text;
  const auto add = [&](ExpressionPtr part) {
    if (!whole) {
      whole = std::move(part);
      return;
    }
    whole = node(Kind::kBinary, begin, list_of(std::move(whole), std::move(part)));
    whole->operations = {Operation::kAdd};
  };
  const auto add_text = [&] {
    ExpressionPtr made = node(Kind::kLiteral, begin, {});
    if (text.size() > kMaxTextBytes) {
      cursor_.source().fail(made->extent,
                            {"the string is too long", "a string has at most 16 KiB"});
    }
    made->literal = std::exchange(text, {});
    add(std::move(made));
  };
  while (cursor_.is_kind(Token::Kind::kString)) {
    for (StringPart& part : decode_string(cursor_.source(), cursor_.take())) {
      text += part.text;
      if (!part.name) continue;
      add_text();
      add(name_as_text(*part.name));
    }
  }
  if (!whole || !text.empty()) add_text();
  return whole;
}

ExpressionPtr ExpressionParser::name_as_text(Extent extent) {
  ExpressionPtr name = node(Kind::kName, extent.begin, {});
  name->extent = extent;
  name->name = cursor_.source().slice(extent);
  names_read_.insert(name->name);
  ExpressionPtr call = node(Kind::kCall, extent.begin, list_of(std::move(name)));
  call->extent = extent;
  call->name = "str";
  return call;
}

ExpressionPtr ExpressionParser::parse_name() {
  const Extent extent = cursor_.peek().extent;
  std::string name(cursor_.text());
  std::optional<Value> constant;
  if (name == "True" || name == "False") constant = name == "True";
  if (name == "None") constant = PythonNone{};
  if (!constant && is_keyword(name)) cursor_.fail_unexpected();
  cursor_.take();
  if (constant) {
    ExpressionPtr made = node(Kind::kLiteral, extent.begin, {});
    made->literal = *constant;
    return made;
  }
  if (name == "time" && cursor_.is_sign(".") && cursor_.is_word("time", 1)) {
    cursor_.take();
    cursor_.take();
    if (!cursor_.is_sign("(")) cursor_.fail({"`time.time` is not called", "write time.time()"});
    name = "time.time";
  }
  if (cursor_.is_sign("(")) return parse_call(std::move(name), extent);
  if (cursor_.is_sign(".")) cursor_.source().fail(extent, attribute_access(name));
  names_read_.insert(name);
  ExpressionPtr made = node(Kind::kName, extent.begin, {});
  made->name = std::move(name);
  return made;
}

ExpressionPtr ExpressionParser::parse_call(std::string name, Extent extent) {
  if (!is_builtin(name)) cursor_.source().fail(extent, unknown_function(name));
  cursor_.take();
  std::vector<ExpressionPtr> arguments;
  while (!cursor_.is_sign(")")) {
    arguments.push_back(parse());
    if (!cursor_.take_sign(",")) break;
  }
  if (!cursor_.take_sign(")")) cursor_.fail_unexpected();
  ExpressionPtr made = node(Kind::kCall, extent.begin, std::move(arguments));
  made->name = std::move(name);
  return made;
}

// A value in parentheses, a tuple or a list.
ExpressionPtr ExpressionParser::parse_bracketed() {
  const std::size_t begin = cursor_.peek().extent.begin;
  const bool is_tuple = cursor_.is_sign("(");
  const std::string_view closing = is_tuple ? ")" : "]";
  cursor_.take();
  ExpressionPtr value;
  bool comma = false;
  while (!cursor_.is_sign(closing)) {
    value = parse();
    if (!cursor_.take_sign(",")) break;
    comma = true;
  }
  if (!cursor_.take_sign(closing)) cursor_.fail_unexpected();
  if (is_tuple && value && !comma) return value;
  ExpressionPtr made = node(Kind::kLiteral, begin, {});
  made->literal = PythonSequence{is_tuple};
  return made;
}

// What may follow an atom in Python, and is not read here.
void ExpressionParser::refuse_suffix() {
  if (cursor_.is_sign("[")) cursor_.fail(outside_subset("["));
  if (cursor_.is_sign("."))
    cursor_.fail({"attributes are not read in a config", "write the value itself"});
  if (cursor_.is_sign("("))
    cursor_.fail({"this cannot be called", "only names can, such as min(a, b)"});
}

}  // namespace snug::config::python
