#include "config/python/evaluator.h"

#include <vector>

#include "config/python/arithmetic.h"
#include "config/python/builtins.h"

namespace snug::config::python {
namespace {

class Evaluator {
 public:
  Evaluator(const SourceFile& source, const NameLookup& lookup)
      : source_(source), lookup_(lookup) {}

  // Operands are evaluated outside of the try, so a fault is blamed on the innermost part.
  Value run(const Expression& e) const {
    switch (e.kind) {
      case Expression::Kind::kLiteral:
        return e.literal;
      case Expression::Kind::kLogical: {
        Value left = run(*e.operands[0]);
        const bool decided = is_true(left) == (e.operations[0] == Operation::kOr);
        return decided ? left : run(*e.operands[1]);
      }
      case Expression::Kind::kConditional:
        return run(*e.operands[is_true(run(*e.operands[1])) ? 0 : 2]);
      case Expression::Kind::kComparison:
        return run_comparison(e);
      default:
        return run_strict(e);
    }
  }

 private:
  // a < b < c stops at the first comparison that fails.
  Value run_comparison(const Expression& e) const {
    Value left = run(*e.operands[0]);
    for (std::size_t i = 0; i < e.operations.size(); ++i) {
      Value right = run(*e.operands[i + 1]);
      const Value holds =
          blaming(e, [&] { return Value(apply_comparison(e.operations[i], left, right)); });
      if (!is_true(holds)) return false;
      left = std::move(right);
    }
    return true;
  }

  Value run_strict(const Expression& e) const {
    std::vector<Value> values;
    values.reserve(e.operands.size());
    for (const ExpressionPtr& operand : e.operands) values.push_back(run(*operand));
    return blaming(e, [&]() -> Value {
      switch (e.kind) {
        case Expression::Kind::kName:
          return lookup_(e.name);
        case Expression::Kind::kUnary:
          return apply_unary(e.operations[0], values[0]);
        case Expression::Kind::kBinary:
          return apply_binary(e.operations[0], values[0], values[1]);
        default:
          return call_builtin(e.name, values);
      }
    });
  }

  template <typename Compute>
  Value blaming(const Expression& e, const Compute& compute) const {
    try {
      return compute();
    } catch (const Fault& fault) {
      source_.fail(e.extent, fault);
    }
  }

  const SourceFile& source_;
  const NameLookup& lookup_;
};

}  // namespace

Value evaluate(const Expression& expression, const SourceFile& source, const NameLookup& lookup) {
  return Evaluator(source, lookup).run(expression);
}

}  // namespace snug::config::python
