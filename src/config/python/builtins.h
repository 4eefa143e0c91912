// The functions that a config may call.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "config/value.h"

namespace snug::config::python {

bool is_builtin(std::string_view name);

// "int, float, str, ..."
std::string builtin_names();

// Throws Fault at wrong arguments. `name` is a builtin.
Value call_builtin(std::string_view name, std::span<const Value> arguments);

}  // namespace snug::config::python
