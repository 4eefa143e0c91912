// Parses expressions by Python's precedence.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "config/python/cursor.h"
#include "config/python/tree.h"

namespace snug::config::python {

class ExpressionParser {
 public:
  // Names that are read are added to `names_read`. Both must outlive the parser.
  ExpressionParser(TokenCursor& cursor, std::set<std::string, std::less<>>& names_read)
      : cursor_(cursor), names_read_(names_read) {}

  // value | value if condition else other
  ExpressionPtr parse();

  // parse(), or a tuple without parentheses.
  ExpressionPtr parse_tuple_or_value();

 private:
  ExpressionPtr parse_logical(Operation operation);  // kOr, whose operands are kAnd's
  ExpressionPtr parse_not();
  ExpressionPtr parse_comparison();
  ExpressionPtr parse_binary(int min_precedence);
  ExpressionPtr parse_factor();
  ExpressionPtr parse_atom();
  ExpressionPtr parse_name();
  ExpressionPtr parse_call(std::string name, Extent extent);
  ExpressionPtr parse_strings();
  ExpressionPtr name_as_text(Extent extent);
  ExpressionPtr parse_bracketed();
  void refuse_suffix();

  ExpressionPtr node(Expression::Kind kind, std::size_t begin,
                     std::vector<ExpressionPtr> operands) const;

  TokenCursor& cursor_;
  std::set<std::string, std::less<>>& names_read_;
  int nesting_ = 0;
};

}  // namespace snug::config::python
