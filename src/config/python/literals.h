// The values of number and string literals.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/python/lexer.h"
#include "config/value.h"

namespace snug::config::python {

// Of a string: text as it is, or in an f-string a name whose value belongs there.
struct StringPart {
  std::string text;
  std::optional<Extent> name;
};

// For tokens of kind kNumber and kString. Throw ConfigError at malformed literals, at numbers that
// do not fit 64 bits, at bytes, and at f-strings with more than names between their braces.
Value decode_number(const SourceFile& source, const Token& token);
std::vector<StringPart> decode_string(const SourceFile& source, const Token& token);

}  // namespace snug::config::python
