// What to say about Python that is not read here.
#pragma once

#include <string_view>

#include "config/diagnostic.h"

namespace snug::config::python {

// Python's reserved words; none of them can be a setting.
bool is_keyword(std::string_view word);

// For a keyword or sign that has no place where it stands.
Fault outside_subset(std::string_view word);

Fault unknown_function(std::string_view name);
Fault attribute_access(std::string_view object);

}  // namespace snug::config::python
