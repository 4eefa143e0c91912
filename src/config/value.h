// A value as a Python config knows it, with Python's way of writing it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace snug::config {

struct PythonNone {};

// A list or tuple. It is only recognised: nothing that is read here can look into it.
struct PythonSequence {
  bool is_tuple = false;
};

using Value = std::variant<PythonNone, bool, std::int64_t, double, std::string, PythonSequence>;

// "a whole number", "a string", ...
std::string_view type_name(const Value& value);

// As Python's str() and repr(). repr() of a string is a literal that reads back to the same string.
std::string python_str(const Value& value);
std::string python_repr(const Value& value);

// Python's truth; of a sequence, as if it were not empty.
bool is_true(const Value& value);

}  // namespace snug::config
