#include "config/python/reader.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"
#include "config/fields.h"
#include "config/nearest.h"
#include "config/python/arithmetic.h"
#include "config/python/evaluator.h"
#include "config/python/parser.h"

namespace snug::config::python {
namespace {

constexpr std::size_t kMaxNamedHelpers = 8;  // in the notice
constexpr std::size_t kMaxHelpers = 1000;

bool divides(const Expression& e) {
  return e.kind == Expression::Kind::kBinary && e.operations[0] == Operation::kDivide;
}

bool is_literal(const Expression& e) {
  if (e.kind == Expression::Kind::kLiteral) return true;
  return e.kind == Expression::Kind::kUnary && e.operations[0] != Operation::kNot &&
         e.operands[0]->kind == Expression::Kind::kLiteral;
}

}  // namespace

void PythonReader::read(const SourceFile& source) {
  const Module module = parse_module(source);
  names_read_.insert(module.names_read.begin(), module.names_read.end());
  for (const Assignment& assignment : module.assignments) run(assignment, source);
}

void PythonReader::run(const Assignment& assignment, const SourceFile& source) {
  const Expression& expression = *assignment.value;
  const auto find = [this](std::string_view name) { return lookup(name); };
  Value value = evaluate(expression, source, find);
  if (assignment.operation) {
    const AssignmentTarget& target = assignment.targets.front();
    try {
      value = apply_binary(*assignment.operation, lookup(target.name), value);
    } catch (const Fault& fault) {
      source.fail({target.extent.begin, expression.extent.end}, fault);
    }
  }
  for (const AssignmentTarget& target : assignment.targets)
    store(target, value, expression, source);
}

void PythonReader::store(const AssignmentTarget& target, const Value& value,
                         const Expression& expression, const SourceFile& source) {
  const Field* field = find_field(target.name);
  Origin origin = source.origin(expression.extent);
  if (!field) {
    if (helpers_.size() >= kMaxHelpers) {
      source.fail(target.extent, {"too many names that are no settings", "is this a config?"});
    }
    helpers_[target.name] = {value, source.origin(target.extent)};
    return;
  }
  try {
    assign_field(config_.values, *field, value);
  } catch (Fault& fault) {
    if (field->is_whole() && divides(expression)) {
      fault.advice = "/ gives a fraction: // divides whole numbers";
    }
    throw_at(origin, fault);
  }
  config_.origins[target.name] = std::move(origin);
}

Value PythonReader::lookup(std::string_view name) const {
  if (const Field* field = find_field(name)) return field_value(config_.values, *field);
  const auto helper = helpers_.find(name);
  if (helper != helpers_.end()) return helper->second.value;
  std::vector<std::string> known = all_keys();
  for (const auto& [key, value] : helpers_) known.push_back(key);
  const std::string near = nearest_word(name, known, suggestion_reach(name));
  throw Fault{fmt::format("`{}` has no value yet", shortened(name, 40)),
              near.empty() ? "a name is set on a line above, or is a setting"
                           : fmt::format("did you mean {}?", near)};
}

void PythonReader::finish() {
  std::vector<std::string> unused;
  for (const auto& [name, helper] : helpers_) {
    if (names_read_.contains(name)) continue;
    const std::string near = nearest_word(name, all_keys(), typo_reach(name));
    if (!near.empty()) {
      throw_at(helper.origin, {fmt::format("{} is not a setting, and nothing reads it", name),
                               fmt::format("did you mean {}?", near)});
    }
    unused.push_back(fmt::format("{} ({})", shortened(name, 40), origin_name(helper.origin)));
  }
  if (unused.empty()) return;
  const std::size_t count = unused.size();
  if (count > kMaxNamedHelpers) unused.resize(kMaxNamedHelpers);
  config_.notices.push_back(fmt::format(
      "not settings, and read by nothing: {}{}", fmt::join(unused, ", "),
      count > kMaxNamedHelpers ? fmt::format(" and {} more", count - kMaxNamedHelpers) : ""));
}

std::optional<Value> read_literal(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == text.npos) return std::nullopt;
  try {
    const SourceFile source("", std::string(text.substr(begin)));
    const ExpressionPtr expression = parse_expression(source);
    if (!is_literal(*expression)) return std::nullopt;
    return evaluate(*expression, source, [](std::string_view) -> Value { return PythonNone{}; });
  } catch (const ConfigError&) {
    return std::nullopt;
  }
}

}  // namespace snug::config::python
