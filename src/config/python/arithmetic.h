// Python's arithmetic on values: int / int is a float, // rounds down, bools count as 0 and 1,
// strings add and repeat. Where Python would grow a big integer or a long string, or make inf or
// nan, a Fault is thrown instead.
#pragma once

#include "config/python/tree.h"
#include "config/value.h"

namespace snug::config::python {

Value apply_binary(Operation operation, const Value& left, const Value& right);
Value apply_unary(Operation operation, const Value& operand);
bool apply_comparison(Operation operation, const Value& left, const Value& right);

// For functions that compute: throws Fault when the number is not finite.
Value finite(double number);

}  // namespace snug::config::python
