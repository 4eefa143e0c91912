#include "config/python/parser.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/python/expression.h"
#include "config/python/subset.h"

namespace snug::config::python {
namespace {

struct AugmentedSign {
  std::string_view text;
  Operation operation;
};

constexpr AugmentedSign kAugmented[] = {
    {"+=", Operation::kAdd},    {"-=", Operation::kSubtract},     {"*=", Operation::kMultiply},
    {"/=", Operation::kDivide}, {"//=", Operation::kFloorDivide}, {"%=", Operation::kModulo},
    {"**=", Operation::kPower},
};

class StatementParser {
 public:
  explicit StatementParser(const SourceFile& source)
      : cursor_(source, tokenize(source)), expressions_(cursor_, module_.names_read) {}

  Module parse_module() {
    while (!cursor_.is_kind(Token::Kind::kEnd)) {
      parse_statement();
      if (!at_statement_end()) cursor_.fail_unexpected();
      while (cursor_.is_kind(Token::Kind::kNewline) || cursor_.is_sign(";")) cursor_.take();
    }
    return std::move(module_);
  }

  ExpressionPtr parse_expression() {
    ExpressionPtr value = expressions_.parse_tuple_or_value();
    if (cursor_.is_kind(Token::Kind::kNewline)) cursor_.take();
    if (!cursor_.is_kind(Token::Kind::kEnd)) cursor_.fail_unexpected();
    return value;
  }

 private:
  bool at_statement_end() const {
    return cursor_.is_kind(Token::Kind::kNewline) || cursor_.is_kind(Token::Kind::kEnd) ||
           cursor_.is_sign(";");
  }

  void parse_statement() {
    if (cursor_.is_kind(Token::Kind::kIndent)) {
      cursor_.source().fail(cursor_.peek(1).extent,
                            {"the line is indented", "start every setting in the first column"});
    }
    if (cursor_.is_word("import")) return parse_import();
    if (cursor_.take_word("pass")) return;
    if (cursor_.is_free_name()) {
      if (cursor_.is_sign("=", 1)) return parse_assignment();
      if (const AugmentedSign* sign = augmented_sign()) return parse_augmented(*sign);
      if (cursor_.is_sign(",", 1)) fail_tuple_target();
      if (cursor_.is_sign(":", 1))
        cursor_.source().fail(cursor_.peek(1).extent, outside_subset(":"));
    }
    parse_bare_value();
  }

  void parse_import() {
    cursor_.take();
    if (!cursor_.is_word("time") || cursor_.is_sign(".", 1)) {
      cursor_.fail({cursor_.is_free_name() ? fmt::format("`import {}` is not read in a config",
                                                         shortened(cursor_.text(), 40))
                                           : "the import names no module",
                    "only `import time` is read; write other values themselves"});
    }
    cursor_.take();
    if (cursor_.take_sign(",")) {
      cursor_.fail({"only `import time` is read in a config", "take the other modules out"});
    }
  }

  void parse_assignment() {
    Assignment assignment;
    while (cursor_.is_free_name() && cursor_.is_sign("=", 1)) {
      assignment.targets.push_back({std::string(cursor_.text()), cursor_.peek().extent});
      cursor_.take();
      cursor_.take();
    }
    assignment.value = expressions_.parse_tuple_or_value();
    if (cursor_.is_sign("=")) {
      cursor_.source().fail(assignment.value->extent, {"this cannot be assigned to",
                                                       "write == to compare, key = value to set"});
    }
    module_.assignments.push_back(std::move(assignment));
  }

  const AugmentedSign* augmented_sign() const {
    const auto at =
        std::find_if(std::begin(kAugmented), std::end(kAugmented),
                     [&](const AugmentedSign& sign) { return cursor_.is_sign(sign.text, 1); });
    return at == std::end(kAugmented) ? nullptr : at;
  }

  void parse_augmented(const AugmentedSign& sign) {
    Assignment assignment;
    assignment.targets.push_back({std::string(cursor_.text()), cursor_.peek().extent});
    assignment.operation = sign.operation;
    cursor_.take();
    cursor_.take();
    assignment.value = expressions_.parse_tuple_or_value();
    module_.assignments.push_back(std::move(assignment));
  }

  // A text that stands alone is a comment of many lines; any other value has no effect.
  void parse_bare_value() {
    const bool starts_statement = cursor_.is_kind(Token::Kind::kName) &&
                                  is_keyword(cursor_.text()) && !is_value_word(cursor_.text());
    if (starts_statement) cursor_.fail(outside_subset(cursor_.text()));
    const ExpressionPtr value = expressions_.parse_tuple_or_value();
    if (cursor_.is_sign("=")) {
      cursor_.source().fail(value->extent, {"this cannot be assigned to", "write key = value"});
    }
    if (!at_statement_end()) cursor_.fail_unexpected();
    if (value->kind == Expression::Kind::kLiteral &&
        std::holds_alternative<std::string>(value->literal)) {
      return;
    }
    cursor_.source().fail(value->extent,
                          {"this sets nothing", "write key = value, such as batch_size = 12"});
  }

  static bool is_value_word(std::string_view word) {
    return word == "True" || word == "False" || word == "None" || word == "not" || word == "lambda";
  }

  [[noreturn]] void fail_tuple_target() const {
    cursor_.source().fail(cursor_.peek(1).extent,
                          {"several names are set at once", "give each setting its own line"});
  }

  Module module_;
  TokenCursor cursor_;
  ExpressionParser expressions_;
};

}  // namespace

Module parse_module(const SourceFile& source) { return StatementParser(source).parse_module(); }

ExpressionPtr parse_expression(const SourceFile& source) {
  return StatementParser(source).parse_expression();
}

}  // namespace snug::config::python
