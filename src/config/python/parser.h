// From tokens to the syntax tree. The subset of Python is decided here: what is not in it is
// refused with its place, and nothing that was parsed can do more than compute a value.
#pragma once

#include "config/python/lexer.h"
#include "config/python/tree.h"

namespace snug::config::python {

// Both throw ConfigError at what is malformed or outside the subset.
Module parse_module(const SourceFile& source);

// The whole source is one expression.
ExpressionPtr parse_expression(const SourceFile& source);

}  // namespace snug::config::python
