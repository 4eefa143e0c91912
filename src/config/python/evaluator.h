// The value of an expression.
#pragma once

#include <functional>
#include <string_view>

#include "config/python/tree.h"
#include "config/source_file.h"

namespace snug::config::python {

// The value of a name; throws Fault when it has none.
using NameLookup = std::function<Value(std::string_view name)>;

// Throws ConfigError at the part that has no value (unknown name, division by zero, ...).
// Branches that are not taken are not evaluated, as in Python.
Value evaluate(const Expression& expression, const SourceFile& source, const NameLookup& lookup);

}  // namespace snug::config::python
